"""Which thread block is chosen from what a model predicts."""
