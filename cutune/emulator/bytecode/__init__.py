"""A whole PTX module as bytecode, and what is known of its kernels."""
