"""What holds in a whole translation unit: macros, scopes, types, library functions."""
