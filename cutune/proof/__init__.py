"""Proofs on compiled code: PTX in, what may change about the launches of an entry out.

The way of a kernel: `analysis` reads its source, and `compiled` has it compiled to PTX. `entry`
judges each entry: `flow` simplifies and walks it with `values`, `memory` records what the walk
meets, and says where threads meet; where blocks work together `blocks` and `collectives` do.
`confirm` joins the verdicts with what the source says, and `variants` adds copies that do the same.

Words that this room uses in a sense of its own:

- *id*: `blockIdx.d * blockDim.d + threadIdx.d`, which numbers the threads of a launch. Other blocks
  have the same ids.
- *raw*: a value is raw in a dimension if it changes with the size of blocks, as `threadIdx.d` does.
- *stride*: the number of threads of a launch in a dimension, `gridDim.d * blockDim.d`.
- *row*: work that the threads of one block share, while the grid is kept; J is the index in it.
- *place*: an address, as a base pointer and a polynomial of ids and parameters.
- *meeting*: two threads access one place, and one of them writes.
- *spread*: a condition of the launch under which steps of ids are long enough to tell places apart.
- *copy*: a kernel that reads its block in place of a constant, launched in other blocks only.
- *variant*: a copy that does what the kernel does under a condition that each launch asks.
- *elsewhere*: in another source, which defines a kernel and so *lends* it to the one that launches
  it, where it is *borrowed*.
"""
