"""What the pragmas of a source make parameters: host integers, macros, constants; and regions."""
