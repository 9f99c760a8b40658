"""The instrumented program on a real GPU: times, and counters of ncu."""
