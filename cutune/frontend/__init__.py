"""Text in, `Program` out: kernels, launch sites, and what the text says about them."""
