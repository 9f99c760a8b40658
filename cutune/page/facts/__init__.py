"""What a report says, as values: nothing here draws."""
