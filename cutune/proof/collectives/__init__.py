"""Work that the threads of a block do together, as reductions: proven by running it for each block.

What threads do between two loops over rows depends on their places in the block and on its width
alone, not on data. So it is run, for each width that a block may have, with the sums of the threads
as symbols. Where all widths give the same values, as all threads' sums added up, the block is free.
"""
