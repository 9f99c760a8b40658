"""What may be written behind `cutune`, and what explains it."""
