"""The ground of everything: sources, edits, diagnostics, workspaces, progress."""
