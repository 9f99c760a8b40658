"""Measurements in; fitted models, rational programs and the C of the selection routine out."""
