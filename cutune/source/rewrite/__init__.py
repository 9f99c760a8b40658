"""`Program` in, source text out: edits at launches and tunables, and where they are written."""
