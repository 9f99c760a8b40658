"""Results that still hold: what they depend on, and where they are kept."""
