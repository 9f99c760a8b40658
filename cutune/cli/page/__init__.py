"""The report: one HTML page about everything that is known of some programs, and its figures."""
