"""Work that threads of a block do together, where blocks keep their indices and grids are kept.

Rows that threads share, tables that they fill, and sums of blocks. All of it is judged by the walk;
what threads combine through shared memory and shuffles is run, in `collectives`.
"""
