"""PTX instructions to operations of the 32-lane machine."""
