"""What is known of values in compiled code: terms, conditions, operations, bounds."""
