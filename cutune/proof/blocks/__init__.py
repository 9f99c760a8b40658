"""Work that the threads of a block do together: rows that they share, tables and sums."""
