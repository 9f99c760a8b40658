"""Ways to search: which configurations are tried, and in which order."""
