"""The command line, the functions for Python, and the report."""
