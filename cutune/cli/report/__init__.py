"""Values to what verbs print: tables, suggestions, choices."""
