"""What everything stands on: sources, edits, diagnostics, workspaces, progress."""
