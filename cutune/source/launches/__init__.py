"""Launch sites and annotations of kernels: what may be rewritten, and why not."""
