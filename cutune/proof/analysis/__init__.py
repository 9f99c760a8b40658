"""Text and compiled code joined: source in, proven `Program` out."""
