// What was decided for launches, and what a launch asks: one of a known size costs a comparison.
// Needs cutune_launch.h, cutune_choice.h, cutune_refine.h and the table cutune_sites before it.
#ifndef CUTUNE_QUESTION_H
#define CUTUNE_QUESTION_H

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

enum { cutune_site_count = sizeof cutune_sites / sizeof cutune_sites[0] };
enum { cutune_most_asked = 16, cutune_ways = 4, cutune_least_sets = 16, cutune_most_sets = 128 };

// As many sets of decisions as sites, or more, a power of two: launches that take turns stay known.
constexpr int cutune_sets_for(int sites, int sets) {
    return sets >= sites || sets >= cutune_most_sets ? sets : cutune_sets_for(sites, 2 * sets);
}
enum { cutune_sets = cutune_sets_for(cutune_site_count, cutune_least_sets) };

// Sites whose chosen block was refused by CUDA.
std::atomic<bool> cutune_given_up[cutune_site_count];

// The row of a site: rows are in the order of the ids, a few of which may be missing.
inline int cutune_row(int id) {
    int row = id - cutune_sites[0].id;
    if (row >= cutune_site_count) row = cutune_site_count - 1;
    while (row >= 0 && cutune_sites[row].id > id) --row;
    return row >= 0 && cutune_sites[row].id == id ? row : -1;
}

// How a launch is made.
struct cutune_plan {
    uint3 grid, block;
    size_t smem;
};

// A decision, and all that it depends on. Nothing in it has a constructor, which each use would
// have to look after.
struct cutune_decision {
    unsigned long long asked[cutune_most_asked];
    cutune_plan plan;
    int variant;  // of the kernel, or 0
    // Where the stream is capturing it may have to be another one.
    bool is_for_now;
    // It holds only while pointers lead to different memory.
    bool relies_on_memory;
    // CUDA has launched it, or it is what the program asked for: no error need be looked for.
    bool is_accepted;
    cutune_refinement *refinement;  // that decides until it is settled, or nullptr
};

struct cutune_decision_set {
    cutune_decision ways[cutune_ways];
    unsigned replaced;
};

thread_local cutune_decision_set cutune_decisions[cutune_sets];

// The default stream of a program cannot be captured, but that of a thread can.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline bool cutune_is_legacy(cudaStream_t stream) { return stream == cudaStreamLegacy; }
#else
inline bool cutune_is_legacy(cudaStream_t stream) { return stream == nullptr; }
#endif

// What a launch asks for, as far as its decision depends on it.
class cutune_question {
  public:
    cutune_question(int row, int device, const void *kernel, cutune_word signature, dim3 grid,
                    dim3 block, size_t smem, const long long *arguments,
                    unsigned long long integers)
        : count_(7) {
        // Neither is negative; so the first word is never 0, which says that nothing is decided.
        asked_[0] = two(static_cast<unsigned>(device), static_cast<unsigned>(row) + 1);
        // Where the kernel is not known, the types of its arguments tell instances apart.
        asked_[1] = kernel == nullptr ? signature : reinterpret_cast<uintptr_t>(kernel);
        asked_[2] = two(grid.x, grid.y);
        asked_[3] = two(grid.z, block.z);
        asked_[4] = two(block.x, block.y);
        asked_[5] = smem;
        asked_[6] = integers;
        const cutune_site &site = cutune_sites[row];
        unsigned long long read =
            ((site.guard_arguments | site.select_arguments) & integers) | site.free_arguments;
        for (; read != 0 && count_ < cutune_most_asked; read &= read - 1)
            asked_[count_++] = static_cast<unsigned long long>(arguments[__builtin_ctzll(read)]);
        is_whole_ = read == 0;
    }

    // From now on it is that of a launch that becomes part of a graph. There are fewer arguments than
    // bits.
    void capture() { asked_[6] |= 1ull << 63; }

    // Its decision, or the one that makes room for it; nullptr when there is too much to remember.
    cutune_decision *find(bool *is_known) const {
        *is_known = false;
        if (!is_whole_) return nullptr;
        unsigned long long hash = 0;
        for (int i = 0; i < count_; ++i) hash = hash * 5 + asked_[i];
        // Grids and blocks lie in both halves of a word.
        hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull >> 32;
        cutune_decision_set &set = cutune_decisions[hash % cutune_sets];
        for (int way = 0; way < cutune_ways; ++way) {
            *is_known = is_answered_by(set.ways[way]);
            if (*is_known || set.ways[way].asked[0] == 0) return &set.ways[way];
        }
        return &set.ways[set.replaced++ % cutune_ways];
    }

    bool is_answered_by(const cutune_decision &decision) const {
        unsigned long long differences = 0;
        for (int i = 0; i < count_; ++i) differences |= decision.asked[i] ^ asked_[i];
        return differences == 0;
    }

    void write_to(cutune_decision *decision) const {
        for (int i = 0; i < count_; ++i) decision->asked[i] = asked_[i];
    }

  private:
    int count_;
    bool is_whole_;
    unsigned long long asked_[cutune_most_asked];

    static unsigned long long two(unsigned high, unsigned low) {
        return static_cast<unsigned long long>(high) << 32 | low;
    }
};

}  // namespace

#endif  // CUTUNE_QUESTION_H
