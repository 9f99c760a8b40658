"""What verbs print: tables, suggestions, choices."""
