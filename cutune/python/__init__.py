"""cutune from Python: the verbs as functions, and results that notebooks show as tables."""
