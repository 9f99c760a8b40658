"""The emulated device: a 32-lane machine for PTX, and a replacement for libcudart."""
