"""The models of the literature, for comparison: MWP-CWP, and bounds by latency and throughput."""
