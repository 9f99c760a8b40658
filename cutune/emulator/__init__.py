"""The emulated device: PTX to bytecode, a 32-lane machine, a replacement for libcudart."""
