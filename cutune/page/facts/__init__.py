"""The facts of a report, as values: nothing here draws."""
