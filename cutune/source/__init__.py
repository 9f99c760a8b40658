"""What the text of a program says, and how that text is changed. Nothing is proven here.

From text to a rewritten program, in the order of the modules:

1. `syntax.tokens` cuts text into tokens, `syntax.directives` matches brackets across `#if`, and
   `syntax.parse` finds functions, launches, macros and pragmas: a `Syntax` per file. The files are
   the source and the user's headers (`syntax.headers`).
2. `unit.preprocess` lays the compiler's preprocessed text out as the same files. `unit.unit` joins
   all of them to a `Unit`: functions, types, constants; `unit.macros` has the macros. From it
   `unit.kernels` reads kernels and the structures that they get. `unit.kernel_texts` and
   `syntax.reach` say what the code that a kernel may call does with pointers.
3. `proof`, another room, decides on compiled code (PTX) what may change about each kernel.
   `launches.annotations` refines that by pragmas; `launches.block_copies` and `numbered_copies`
   propose copies (`kernel_copies`).
4. `configuration.resolve` follows the definitions of grid and block that reach a launch.
   `launches.verdicts` then says of each launch whether it may be tuned, or why it stays, with
   `launches.callees`, `effects` and `columns`. `tunable_pragmas` reads parameters and regions.
5. All of it is the `Program` of `program`, which the later stages read.
6. Passes (`cutune.passes`) give edits of the original text (`rewrite.edits`, `site_table`).
   `rewrite.pipeline` makes them all at once, and `rewrite.output` writes files.
"""
