"""GPUs: profiles with limits, rates and constants, and occupancy."""
