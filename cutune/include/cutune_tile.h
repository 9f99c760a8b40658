// Launches of copies with another constant, in the blocks that follow it. Needs cutune_launch.h before
// it.
#ifndef CUTUNE_TILE_H
#define CUTUNE_TILE_H

// The grid with which a copy covers what the program's grid does. `shapes`: the program's block, how
// much of each extent one of them covers, and how much one of the copy does. False where the program
// asks for other blocks, or not for as many as cover the extents.
static inline bool cutune_tile_grid(const cutune_request &asked, const long long *extents,
                                    const unsigned (*shapes)[3], dim3 *grid) {
    unsigned blocks[3];
    for (int d = 0; d < 3; ++d) {
        const long long extent = extents[d];
        if (extent < 1 || extent > cutune_most_ids ||
            cutune_along(d, asked.block) != shapes[0][d] ||
            cutune_along(d, asked.grid) != (extent + shapes[1][d] - 1) / shapes[1][d])
            return false;
        blocks[d] = static_cast<unsigned>((extent + shapes[2][d] - 1) / shapes[2][d]);
        if (blocks[d] > cutune_most_blocks(d)) return false;
    }
    *grid = dim3(blocks[0], blocks[1], blocks[2]);
    return true;
}

static inline dim3 cutune_block_of(const cutune_variant &copy) {
    return dim3(copy.block[0], copy.block[1], copy.block[2]);
}

// May a variant be launched: has it no block of its own and no dynamic shared memory, or a block that
// fits the program's grid?
static inline bool cutune_is_tiled(const cutune_variant &copy, const cutune_request &asked) {
    dim3 grid;
    return copy.tile == nullptr ? asked.smem == 0 : copy.tile(asked, &grid);
}

// A request as if the program had asked for a copy.
static inline cutune_request cutune_as_tile(const cutune_request &asked, int variant) {
    const cutune_variant &copy = asked.site->variants[variant - 1];
    cutune_request tiled = asked;
    tiled.block = cutune_block_of(copy);
    tiled.smem = copy.shared;
    tiled.guarded = 0;
    if (!copy.tile(asked, &tiled.grid)) return asked;
    for (int d = 0; d < 3; ++d)
        tiled.extent[d] = cutune_product(cutune_along(d, tiled.grid), cutune_along(d, tiled.block));
    return tiled;
}

#endif  // CUTUNE_TILE_H
