"""What the threads of a block do together: rows that they share, what each block does alone."""
