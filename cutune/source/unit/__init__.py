"""Names of a whole translation unit: macros, constants, types, kernels as they are declared."""
