// What instrumented and tuned programs share: the table of launch sites, and the one rule by which
// a grid follows a changed block. C++11 and later; every name begins with cutune_.
#ifndef CUTUNE_LAUNCH_H
#define CUTUNE_LAUNCH_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

struct cutune_configuration {
    dim3 grid, block;
};

// A launch as the program asked for it, and what is known about the threads that it needs.
struct cutune_request {
    dim3 grid, block;
    size_t smem;
    // Per dimension: the guard bound g where the kernel has one and enough threads were asked for,
    // else the thread space T = grid * block; the number of blocks where these are kept.
    long long extent[3];
    // The kernel arguments in order, behind them members of these; 0 in place of what is no integer.
    const long long *arguments;
    // Bit i: argument i is an integer. Bit d: extent d is a guard bound.
    unsigned long long integers;
    unsigned guarded;
};

enum { cutune_most_listed = 4 };

// What a selection routine tells besides its choice.
struct cutune_shortlist {
    unsigned long long key;  // of kernel and sizes; 0 where the model may not be asked
    int count;
    dim3 blocks[cutune_most_listed];  // the choice, the program's own, then the fastest others
};

enum cutune_rule {
    cutune_fixed,    // block and grid of this dimension stay
    cutune_divide,   // the block divides T: exactly the same threads run
    cutune_guarded,  // besides, threads from the guard bound on have no effect
    cutune_kept,     // the blocks stay, of whatever size they are
};

struct cutune_site {
    int id;
    const char *kernel;
    const char *file;
    cutune_rule rule[3];
    long long (*guard[3])(const long long *arguments);
    unsigned long long guard_arguments;  // bit i: the guards read argument i
    unsigned max_threads;
    // Tuned programs only; `list` may be nullptr.
    cutune_configuration (*select)(const cutune_request *request, cutune_shortlist *list);
    unsigned long long select_arguments;  // bit i: `select` reads argument i
    // Bytes of dynamic shared memory of a block, or nullptr: they do not follow it.
    long long (*shared)(long long x, long long y, long long z);
    // Threads of a warp may hand values to each other: each warp must keep its threads.
    bool needs_warps;
    // No template, no overload: every launch from here is one of the same kernel.
    bool is_one_kernel;
};

// Stands for an argument that cannot be looked at twice.
struct cutune_unseen {};

template <class T>
inline long long cutune_integer_value(const T &value, std::true_type) {
    return static_cast<long long>(value);
}

template <class T>
inline long long cutune_integer_value(const T &, std::false_type) {
    return 0;
}

template <class T>
struct cutune_is_integer
    : std::integral_constant<bool, std::is_integral<T>::value || std::is_enum<T>::value> {};

template <class T>
inline long long cutune_integer(const T &value) {
    return cutune_integer_value(value, typename cutune_is_integer<T>::type());
}

// Bit i: type i is an integer type.
template <class... T>
struct cutune_integer_bits : std::integral_constant<unsigned long long, 0> {};

template <class First, class... Rest>
struct cutune_integer_bits<First, Rest...>
    : std::integral_constant<unsigned long long, (cutune_integer_bits<Rest...>::value << 1) |
                                                     (cutune_is_integer<First>::value ? 1u : 0u)> {
};

static inline bool cutune_are_equal(dim3 one, dim3 other) {
    return one.x == other.x && one.y == other.y && one.z == other.z;
}

static inline long long cutune_threads(dim3 block) {
    return static_cast<long long>(block.x) * block.y * block.z;
}

inline bool cutune_fits_int(long long value) {
    return value >= -2147483648ll && value <= 2147483647ll;
}

static inline cutune_request cutune_make_request(const cutune_site &site, dim3 grid, dim3 block,
                                                 size_t smem, const long long *arguments,
                                                 unsigned long long integers) {
    cutune_request request = {grid, block, smem, {0, 0, 0}, arguments, integers, 0};
    const long long space[3] = {static_cast<long long>(grid.x) * block.x,
                                static_cast<long long>(grid.y) * block.y,
                                static_cast<long long>(grid.z) * block.z};
    const unsigned blocks[3] = {grid.x, grid.y, grid.z};
    const bool computable = (site.guard_arguments & ~integers) == 0;
    for (int d = 0; d < 3; ++d) {
        request.extent[d] = site.rule[d] == cutune_kept ? blocks[d] : space[d];
        if (site.rule[d] != cutune_guarded || !computable) continue;
        const long long bound = site.guard[d](arguments);
        // Fewer threads than the bound: each of them counts. Outside of 32 bits the kernel, which
        // computes with them, may see another bound or another id.
        if (bound <= 0 || bound > space[d] || space[d] > 2147483647ll) continue;
        request.extent[d] = bound;
        request.guarded |= 1u << d;
    }
    return request;
}

static inline long long cutune_shared_bytes(const cutune_site &site, dim3 block) {
    return site.shared(block.x, block.y, block.z);
}

// The dynamic shared memory for another block. False when the program does not ask for what the
// formula says, or when it would be more than any launch may have, unless the program, which then
// has raised the limit, asks for as much.
static inline bool cutune_fit_shared(const cutune_site &site, const cutune_request &request,
                                     dim3 block, size_t *smem) {
    *smem = request.smem;
    if (site.shared == nullptr) return true;
    const long long asked = static_cast<long long>(request.smem);
    if (cutune_shared_bytes(site, request.block) != asked) return false;
    const long long bytes = cutune_shared_bytes(site, block);
    const long long most = asked > 49152 ? asked : 49152;
    if (bytes < 0 || bytes > most) return false;
    *smem = static_cast<size_t>(bytes);
    return true;
}

// Has each warp the same threads with both blocks? Warps are 32 neighbours in x, or else the same
// whole rows.
static inline bool cutune_keeps_warps(dim3 before, dim3 after) {
    if (before.x % 32 == 0) return after.x % 32 == 0;
    return after.x == before.x && before.x * before.y % 32 == 0 && after.x * after.y % 32 == 0 &&
           32 % before.x == 0;
}

// Grid and shared memory for another block. False when that block may not be used; then nothing is
// touched.
static inline bool cutune_fit_launch(const cutune_site &site, const cutune_request &request,
                                     dim3 block, dim3 *grid, size_t *smem) {
    const unsigned before[3] = {request.block.x, request.block.y, request.block.z};
    const unsigned after[3] = {block.x, block.y, block.z};
    const unsigned most[3] = {2147483647u, 65535u, 65535u};
    size_t bytes = 0;
    unsigned fitted[3] = {request.grid.x, request.grid.y, request.grid.z};
    if (cutune_are_equal(block, request.block)) {
        *grid = request.grid;
        *smem = request.smem;
        return true;
    }
    if (after[0] == 0 || after[1] == 0 || after[2] == 0) return false;
    if (after[0] > 1024 || after[1] > 1024 || after[2] > 64) return false;
    if (cutune_threads(block) > static_cast<long long>(site.max_threads)) return false;
    if (site.needs_warps && !cutune_keeps_warps(request.block, block)) return false;
    for (int d = 0; d < 3; ++d) {
        const long long extent = request.extent[d], width = after[d];
        const bool guarded = (request.guarded >> d & 1u) != 0;
        if (site.rule[d] == cutune_kept || (after[d] == before[d] && !guarded)) continue;
        if (site.rule[d] == cutune_fixed || extent == 0) return false;
        if (!guarded && extent % width != 0) return false;
        const long long blocks = (extent + width - 1) / width;
        if (blocks > static_cast<long long>(most[d])) return false;
        if (guarded && blocks * width > 2147483647ll) return false;
        fitted[d] = static_cast<unsigned>(blocks);
    }
    if (!cutune_fit_shared(site, request, block, &bytes)) return false;
    *grid = dim3(fitted[0], fitted[1], fitted[2]);
    *smem = bytes;
    return true;
}

#endif  // CUTUNE_LAUNCH_H
