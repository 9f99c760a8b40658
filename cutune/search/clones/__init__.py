"""Value sets of compile-time parameters in one program, chosen by sizes at run time."""
