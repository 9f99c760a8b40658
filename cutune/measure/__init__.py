"""The instrumented program runs; measurements come out."""
