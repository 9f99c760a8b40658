"""Parameters that pragmas declare: host integers, macros, constants; and timed regions."""
