"""The command line: verbs, their options, and what they print."""
