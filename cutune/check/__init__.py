"""Original and tuned program in, the same or not out; choice and sweep in, regret out."""
