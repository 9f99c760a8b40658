"""What `analyze` is made of: from the tokens of one function to proven facts about it."""
