// What instrumented and tuned programs share: the table of launch sites, and the one rule by which
// a grid follows a changed block. C++11 and later; every name begins with cutune_.
#ifndef CUTUNE_LAUNCH_H
#define CUTUNE_LAUNCH_H

#include <cuda_runtime.h>
#include <stddef.h>

#include <type_traits>

struct cutune_site;
#ifdef CUTUNE_TILES
struct cutune_request;
#endif

typedef long long cutune_long;
typedef unsigned long long cutune_word;

class cutune_memory;

// What is chosen for a launch: a variant of the kernel, or 0 for the kernel itself, and its block.
struct cutune_chosen {
    dim3 block;
    double us;  // as predicted; 0 where nothing was
    int variant;
};

static inline cutune_chosen cutune_only_block(dim3 block) {
    const cutune_chosen only = {block, 0, 0};
    return only;
}

// A copy of a kernel that does the same where nobody else uses what certain pointers write to.
struct cutune_variant {
    const char *name;
    unsigned ids[3];  // that each thread does, per dimension
    // Bit i: its memory is used, and written, through argument i.
    unsigned long long pointers, written;
    // May it run? Always cutune_supposes_rightly, which is not compiled where there are none.
    bool (*may_run)(const cutune_variant &variant, const long long *arguments,
                    cutune_memory *allocations);
#ifndef CUTUNE_NO_VECTORS
    // Bit i: argument i is a pointer that has to be a multiple of 16, or an integer that has to be
    // one of the ids that each thread does in x.
    unsigned long long aligned, divided;
#endif
#ifdef CUTUNE_TILES
    // Of a copy with another constant its one block, and the grid for a launch of the kernel. False
    // where the program asks for another grid than its own constant tells. nullptr: of others.
    unsigned block[3], shared;
    bool (*tile)(const cutune_request &asked, dim3 *grid);
#endif
};

enum { cutune_most_variants = 12 };

static const unsigned cutune_one_id[3] = {1, 1, 1};

// Limits of the kernel as it was compiled: 0 where its code was not proven.
struct cutune_limits {
    unsigned threads;
    size_t shared;  // dynamic shared memory of a block, in bytes
};

static const size_t cutune_any_size = ~static_cast<size_t>(0);

// A launch as the program asked for it, and what is known about the threads that it needs.
struct cutune_request {
    dim3 grid, block;
    size_t smem;
    // Per dimension: the guard bound g where the kernel has one and enough threads were asked for,
    // else the thread space T = grid * block; the number of blocks where these are kept.
    long long extent[3];
    // The kernel arguments in order, then their members; 0 for one that is no integer.
    const long long *arguments;
    // Bit i: argument i is an integer. Bit d: extent d is a guard bound, or where bit 3 is set
    // another number of threads than the program asks for.
    unsigned long long integers;
    unsigned guarded;
    // It becomes part of a graph, in which its arguments may be changed later.
    bool is_captured;
    cutune_limits limits;
    const cutune_site *site;
    cutune_memory *allocations;  // of its pointers; nullptr where no site asks
    unsigned allowed;                 // bit v: variant v may run
    const unsigned *ids;  // that each thread does, per dimension
    cutune_word signature;  // see cutune_signature
};

enum { cutune_most_listed = 4 };

enum : long long {
    // Most threads per dimension: well below 2^32, so that a kernel may add something to an id.
    cutune_most_ids = (1ll << 30) - (1ll << 20),
    // Most threads behind a guard bound for it to be used.
    cutune_most_idle = 1ll << 24
};

// What a selection routine returns besides its choice.
struct cutune_shortlist {
    unsigned long long key;  // of kernel and sizes; 0 where the model may not be asked
    int count;
    dim3 blocks[cutune_most_listed];  // the choice, the program's own, then the fastest others
};

// `narrow`: the kernel reads 24 bits of their numbers, with a sign.
static inline cutune_long cutune_most_blocks(int d, int narrow = 0) {
    return d ? 65535 : narrow ? 8388607 : 2147483647;
}

enum cutune_rule {
    cutune_fixed,    // block and grid of this dimension stay
    // The block divides T: exactly the same threads run. With a guard, any number of threads does
    // the same where that is from 1 to 2^29: so many of them have work.
    cutune_divide,
    cutune_guarded,  // as before, and threads from the guard bound on have no effect
    cutune_kept,     // the number of blocks stays, and their size varies
    cutune_rows,     // the same, proven: where threads are apart, and other dimensions have one
};

static inline bool cutune_keeps_grid(cutune_rule rule) {
    return rule == cutune_kept || rule == cutune_rows;
}

struct cutune_site {
    int id;
    const char *kernel;
    const char *file;
    cutune_rule rule[3];
    long long (*guard[3])(const long long *arguments);
    unsigned long long guard_arguments;  // bit i: the guards read argument i
    unsigned max_threads;
    // Tuned programs only; `list` may be nullptr.
    cutune_chosen (*select)(const cutune_request *request, cutune_shortlist *list);
    unsigned long long select_arguments;  // bit i: `select` reads argument i
    // Bytes of dynamic shared memory of a block, or nullptr: they do not depend on it.
    long long (*shared)(long long x, long long y, long long z);
    // Threads of a warp may exchange values: each warp must keep its threads.
    bool needs_warps;
    // Bit d: the same where a block has several threads in dimension d, which stays. Where warps keep
    // their threads anyway, such a launch stays: the kernel counts the warps of a block by x alone.
    unsigned single_thread;
    // No template, no overload: every launch from here calls the same kernel.
    bool is_one_kernel;
    // Bit d: the kernel indexes dimension d. Bit 3: it reads 24 bits of the numbers of blocks.
    unsigned indexed;
    // May each thread come into any warp, with these arguments? nullptr: it may always. Per
    // dimension `extent` is how many ids are used.
    bool (*is_free)(const long long *arguments, unsigned long long integers,
                    const long long *extent, cutune_memory *allocations);
    unsigned long long free_arguments;  // bit i: `is_free` reads argument i
    bool asks_for_memory;               // `is_free` asks which memory pointers lead to
    // PTX versions for which all of this is proven, up to a 0; nullptr: the compiler was not asked.
    const int *proven;
    // Where the address of the kernel is not known: one that was compiled with it.
    const void *witness;
    // The program may give kernels of a graph another configuration: what is captured stays.
    bool edits_graphs;
    // The variants of the kernel, numbered from 1; nullptr: there are none.
    const cutune_variant *variants;
    int variant_count;
    // Another block may be chosen only where `is_free` says so: it is not enough to keep warps.
    bool must_be_free;
    // What threads of a block sum up is proven for blocks of 32 * (i + 1) threads in x where bit i
    // is set, and one in y and z; 0: for any.
    unsigned widths;
    // Bytes of dynamic shared memory that the launch must ask for, where all blocks get as many.
    unsigned least;
    // cutune_try_threads, cutune_draw_threads where blocks are drawn, or nullptr where all threads
    // have to stay.
    void (*try_threads)(cutune_request *request, cutune_chosen *best);
};

// Members of arguments that a launch passes besides the arguments.
template <class... Members>
struct cutune_members {};

// Did cutune's own CUDA call fail? Its error is cleared, so that the program does not see it.
inline bool cutune_refused(cudaError_t error) {
    if (error != cudaSuccess) cudaGetLastError();
    return error != cudaSuccess;
}

// Is a stream being captured, or must it not be asked?
inline bool cutune_captures(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cutune_refused(cudaStreamIsCapturing(stream, &status)) ||
           status != cudaStreamCaptureStatusNone;
}

template <class T>
struct cutune_is_integer
    : std::integral_constant<bool, std::is_integral<T>::value || std::is_enum<T>::value> {};

template <class T>
struct cutune_is_number
    : std::integral_constant<bool, cutune_is_integer<T>::value ||
                                       std::is_pointer<typename std::decay<T>::type>::value> {};

// The value of an integer, the address that a pointer holds, 0 for anything else.
template <class T>
inline typename std::enable_if<cutune_is_number<T>::value, long long>::type cutune_integer(
    const T &value) {
    // Of a pointer, too: a cast of any kind.
    return cutune_long(value);
}

template <class T>
inline typename std::enable_if<!cutune_is_number<T>::value, long long>::type cutune_integer(
    const T &) {
    return 0;
}

// Bit i: type i is an integer type.
template <class... T>
struct cutune_integer_bits : std::integral_constant<unsigned long long, 0> {};

template <class First, class... Rest>
struct cutune_integer_bits<First, Rest...>
    : std::integral_constant<unsigned long long, (cutune_integer_bits<Rest...>::value << 1) |
                                                     (cutune_is_integer<First>::value ? 1u : 0u)> {
};

static inline unsigned cutune_along(int d, dim3 shape) {
    return d == 0 ? shape.x : d == 1 ? shape.y : shape.z;
}

static inline bool cutune_same(dim3 one, dim3 other) {
    return one.x == other.x && one.y == other.y && one.z == other.z;
}

// Of what CUDA would refuse anyway, as much as fits: 64 bits with a sign do not hold every product.
static inline long long cutune_product(unsigned a, unsigned b) {
    const unsigned long long product = static_cast<unsigned long long>(a) * b;
    return static_cast<long long>(product < 1ull << 62 ? product : 1ull << 62);
}

static inline long long cutune_threads(dim3 block) {
    return static_cast<long long>(block.x) * block.y * block.z;
}

// So that an id and a parameter together do not wrap around in 32 bits.
inline bool cutune_fits_int(long long value) {
    return value >= -cutune_most_ids && value <= cutune_most_ids;
}

static inline bool cutune_is_proven(const cutune_site &site, int version) {
    const int *proven = site.proven;
    if (!proven) return true;
    while (*proven && *proven != version) ++proven;
    return *proven;
}

// The limits of a kernel, asked for once. `kernel` is its address, or nullptr where that is not
// known. False when they could not be determined now.
static inline bool cutune_ask_kernel(const cutune_site &site, const void *kernel,
                                     cutune_limits *limits) {
    limits->threads = site.max_threads;
    limits->shared = cutune_any_size;
    const void *const asked = kernel != nullptr ? kernel : site.witness;
    if (!asked) return true;
    cudaFuncAttributes known;
    if (cutune_refused(cudaFuncGetAttributes(&known, asked))) return false;
    if (kernel != nullptr) {
        const unsigned most = static_cast<unsigned>(known.maxThreadsPerBlock);
        if (most < limits->threads) limits->threads = most;
        limits->shared = static_cast<size_t>(known.maxDynamicSharedSizeBytes);
    }
    if (!cutune_is_proven(site, known.ptxVersion)) limits->threads = 0;
    return true;
}

static inline cutune_request cutune_make_request(const cutune_site &site, dim3 grid, dim3 block,
                                                 size_t smem, const long long *arguments,
                                                 unsigned long long integers,
                                                 cutune_limits limits, bool is_captured,
                                                 cutune_memory *allocations) {
    cutune_request request = {grid, block,       smem,   {0, 0, 0}, arguments,   integers,
                              0,    is_captured, limits, &site,     allocations, 0,
                              cutune_one_id, 0};
    const bool computable = !(site.guard_arguments & ~integers);
    for (int d = 0; d < 3; ++d) {
        const unsigned blocks = cutune_along(d, grid);
        const long long space = cutune_product(blocks, cutune_along(d, block));
        request.extent[d] = cutune_keeps_grid(site.rule[d]) ? blocks : space;
        // In a graph the bound may be another one by the time it runs: all its threads stay.
        if (site.rule[d] != cutune_guarded || !computable || is_captured) continue;
        const long long bound = site.guard[d](arguments);
        // Fewer threads than the bound: each of them counts. Outside of 32 bits the kernel, which
        // computes with them, may see another bound or another id.
        // Multiples of ids, which guards compare with sizes, may have wrapped around.
        if (bound <= 0 || bound > space || space > cutune_most_ids ||
            space - bound > cutune_most_idle)
            continue;
        request.extent[d] = bound;
        request.guarded |= 1u << d;
    }
    return request;
}

// The dynamic shared memory for another block. False when the program does not ask for what the
// formula says, or when it would be more than any launch may have, unless the program, which then
// has raised the limit, asks for as much.
static inline bool cutune_fit_shared(const cutune_site &site, const cutune_request &request,
                                     dim3 block, size_t *smem) {
    *smem = request.smem;
    if (!site.shared) return request.smem >= site.least;
    const long long asked = static_cast<long long>(request.smem);
    const dim3 own = request.block;
    if (site.shared(own.x, own.y, own.z) != asked) return false;
    const long long bytes = site.shared(block.x, block.y, block.z);
    const long long most = asked > 49152 ? asked : 49152;
    // Of a kernel that cannot be asked about: where CUDA refuses what the program asks for, it has
    // to refuse this, too.
    *smem = static_cast<size_t>(bytes);
    return bytes >= 0 && bytes <= most &&
           (request.limits.shared != cutune_any_size || bytes >= asked) &&
           *smem <= request.limits.shared;
}

// Does each warp hold the same threads with both blocks? Warps are 32 neighbours in x, or else
// the same whole rows.
static inline bool cutune_keeps_warps(dim3 before, dim3 after) {
    if (before.x % 32 == 0) return after.x % 32 == 0;
    return after.x == before.x && before.x * before.y % 32 == 0 && after.x * after.y % 32 == 0 &&
           32 % before.x == 0;
}

// May each thread come into any warp? Arguments that a graph gets later are not known.
static inline bool cutune_is_free(const cutune_site &site, const cutune_request &request) {
    return !site.is_free ||
           (!request.is_captured && site.is_free(request.arguments, request.integers,
                                                 request.extent, request.allocations));
}

// Where a block is proven to share its row among its threads, or to sum up what they have: has this
// one no thread in another dimension, is it one of those that are proven, and are arguments such
// that no two elements of the row meet?
static inline bool cutune_shares_rows(const cutune_site &site, const cutune_request &request,
                                      dim3 block) {
    // One dimension has rows at most.
    if (site.widths && ((block.y | block.z) != 1 || block.x % 32 ||
                        !((site.widths >> ((block.x - 1) / 32 % 32)) & 1)))
        return false;
    for (int d = 0; d < 3; ++d)
        if (site.rule[d] == cutune_rows)
            return cutune_threads(block) == cutune_along(d, block) &&
                   cutune_is_free(site, request);
    return true;
}

// May this launch be made in another way at all? Not where CUDA refuses it as it is, where an id
// may be too large for 32 bits, or where threads that the kernel cannot tell apart do its work
// several times.
static inline bool cutune_may_change(const cutune_site &site, const cutune_request &request) {
    if ((request.is_captured && site.edits_graphs) ||
        !cutune_shares_rows(site, request, request.block) ||
        (site.must_be_free && !cutune_is_free(site, request)))
        return false;
    for (int d = 0; d < 3; ++d) {
        const unsigned blocks = cutune_along(d, request.grid);
        const unsigned threads = cutune_along(d, request.block);
        const long long space = cutune_product(blocks, threads);
        if (!space || space > cutune_most_ids ||
            blocks > cutune_most_blocks(d, site.indexed > 7) ||
            threads > (d == 2 ? 64u : 1024u) || (!(site.indexed >> d & 1u) && space != 1) ||
            (site.needs_warps && site.single_thread >> d & 1u && threads != 1))
            return false;
    }
    return cutune_threads(request.block) <= static_cast<long long>(request.limits.threads) &&
           request.smem <= request.limits.shared;
}

// Must each warp keep its threads at this launch?
static inline bool cutune_needs_warps(const cutune_site &site, const cutune_request &request) {
    if (site.needs_warps) return true;
    for (int d = 0; d < 3; ++d)
        if ((cutune_along(d, request.block) != 1 && (site.single_thread >> d & 1u) != 0) ||
            (site.rule[d] == cutune_kept && site.is_free != nullptr))
            return true;
    return !cutune_is_free(site, request);
}

// How many threads have work where any number of them does the same; 0 where all have to stay.
static inline long long cutune_working_threads(const cutune_request &request, int d) {
    const cutune_site &site = *request.site;
    const bool computable = !(site.guard_arguments & ~request.integers);
    if (site.rule[d] != cutune_divide || !site.guard[d] || !computable || request.is_captured ||
        cutune_needs_warps(site, request))
        return 0;
    const long long count = site.guard[d](request.arguments);
    return count > 0 && count <= 1 << 29 ? count : 0;
}

// The same launch with so many threads in one dimension: no more than have work.
static inline cutune_request cutune_with_threads(cutune_request request, int d, long long threads) {
    request.extent[d] = threads;
    request.guarded |= 8 | 1u << d;
    request.allowed = 0;
    return request;
}

// Grid and shared memory for another block. False when that block may not be used; then nothing is
// touched.
static inline bool cutune_fit_launch(const cutune_site &site, const cutune_request &request,
                                     dim3 block, dim3 *grid, size_t *smem) {
    size_t bytes = 0;
    unsigned fitted[3] = {request.grid.x, request.grid.y, request.grid.z};
    const bool several =
        request.guarded >> 3 || request.ids[0] * request.ids[1] * request.ids[2] != 1;
    if (!several && cutune_same(block, request.block)) {
        *grid = request.grid;
        *smem = request.smem;
        return true;
    }
    if (cutune_threads(block) == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
        cutune_threads(block) > static_cast<long long>(request.limits.threads) ||
        !cutune_may_change(site, request) || !cutune_shares_rows(site, request, block))
        return false;
    for (int d = 0; d < 3; ++d) {
        // Of the ids that a block covers.
        const unsigned after = cutune_along(d, block);
        const long long extent = request.extent[d], ids = request.ids[d], width = after * ids;
        const bool guarded = (request.guarded >> d & 1u) != 0;
        if (after == cutune_along(d, request.block) && ids == 1 && !guarded) continue;
        const bool kept = cutune_keeps_grid(site.rule[d]);
        const long long blocks = kept ? fitted[d] : (extent + width - 1) / width;
        // What a kernel takes for its block's place is no larger than any grid.
        if (site.rule[d] == cutune_fixed || (!kept && !guarded && extent % width != 0) ||
            blocks * ids > cutune_most_blocks(d, site.indexed > 7) || blocks * width > cutune_most_ids)
            return false;
        fitted[d] = static_cast<unsigned>(blocks);
    }
    if ((several || !cutune_keeps_warps(request.block, block)) &&
        cutune_needs_warps(site, request))
        return false;
    if (!cutune_fit_shared(site, request, block, &bytes)) return false;
    *grid = dim3(fitted[0], fitted[1], fitted[2]);
    *smem = bytes;
    return true;
}

#endif  // CUTUNE_LAUNCH_H
