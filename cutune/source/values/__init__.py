"""What expressions of a device function are worth: polynomials, ranges, guards."""
