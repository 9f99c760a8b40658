"""What the text of a program says, and how that text is changed. Nothing is proven here.

This room reads C++ text: which kernels and launches there are, where they stand, what they are
called and what the pragmas ask for. Whether a launch may have another thread block is decided by
`proof`, which reads compiled code (PTX) and imports this room. Both fill in the types of `program`.

For the types that later stages read, open `program`. For text into tokens, brackets, functions and
launches: `syntax.parse`. For macros, types and constants of the translation unit: `unit.unit`. For
the definitions of grid and block that reach a launch: `configuration.resolve`. For why a launch
stays as it is: `launches.verdicts`. For pragmas: `launches.annotations` (kernels) and
`tunable_pragmas` (parameters and regions). For edits and where they are written:
`rewrite.pipeline`, `rewrite.edits` and `rewrite.output`.
"""
