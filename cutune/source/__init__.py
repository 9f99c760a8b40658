"""Text in, `Syntax` and launches out; edits in, text out."""
