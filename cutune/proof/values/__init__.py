"""Values in compiled code: terms, conditions, operations, bounds."""
