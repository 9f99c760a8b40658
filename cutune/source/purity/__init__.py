"""In which dimensions a kernel uses nothing but its global id, by its text."""
