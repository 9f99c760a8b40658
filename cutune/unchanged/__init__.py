"""Results of `tune` that still hold: what they depend on, and where they are kept."""
