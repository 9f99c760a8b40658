// A block at random for each launch, of those that it may have, and a variant of its kernel. Which
// ones follow from the seed and from how many launches were made before.
//
//   CUTUNE_SEED      another seed than the one that the program was made with
//   CUTUNE_VARIANT   the variant that each launch takes if it may, the kernel itself otherwise
//
// Needs cutune_host.h, cutune_launch.h and cutune_choice.h before it.
#ifndef CUTUNE_RANDOM_H
#define CUTUNE_RANDOM_H

inline unsigned long long cutune_seed(unsigned long long otherwise) {
    const char *const text = getenv("CUTUNE_SEED");
    return text == nullptr || *text == 0 ? otherwise : strtoull(text, nullptr, 10);
}

inline cutune_atomic<unsigned long long> &cutune_drawn() {
    static cutune_atomic<unsigned long long> count = {0};
    return count;
}

// The next number of the sequence splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
inline unsigned long long cutune_draw(unsigned long long own_seed) {
    static const unsigned long long seed = cutune_seed(own_seed);
    unsigned long long z = seed * 0xd1342543de82ef95ull +
                           (cutune_drawn().add(1) + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// Widths of 0 are those that the program asks for.
static inline dim3 cutune_widths(const cutune_request &asked, const unsigned short *widths) {
    return dim3(widths[0] == 0 ? asked.block.x : widths[0],
                widths[1] == 0 ? asked.block.y : widths[1],
                widths[2] == 0 ? asked.block.z : widths[2]);
}

// A block of at most so many threads, or the program's own.
static inline dim3 cutune_pick_block(const cutune_request &asked, const unsigned short *blocks,
                                     int count, unsigned most, unsigned long long seed) {
    dim3 picked = asked.block, grid;
    size_t smem = 0;
    const unsigned long long drawn = cutune_draw(seed);
    unsigned long long fitting = 1;  // the program's own
    for (int pass = 0; pass < 2; ++pass) {
        const unsigned long long wanted = drawn % fitting;
        unsigned long long seen = 0;
        for (int c = 0; c < count; ++c) {
            const dim3 block = cutune_widths(asked, blocks + 3 * c);
            if (cutune_same(block, asked.block) || cutune_threads(block) > most ||
                !cutune_fit_launch(*asked.site, asked, block, &grid, &smem))
                continue;
            ++seen;
            if (pass == 1 && seen == wanted) picked = block;
        }
        fitting = seen + 1;
    }
    return picked;
}

// Any number of threads that have work where any number does the same, the program's own among them.
inline void cutune_draw_threads(cutune_request *request, cutune_chosen *) {
    for (int d = 0; d < 3; ++d) {
        const long long working = cutune_working_threads(*request, d);
        if (working == 0) continue;
        const unsigned long long drawn = cutune_draw(0);
        if (drawn % 4 == 0) return;
        // Few threads as likely as many.
        const unsigned long long threads = drawn / 4 % static_cast<unsigned long long>(working);
        *request = cutune_with_threads(*request, d,
                                       static_cast<long long>(threads >> (drawn >> 61)) + 1);
        if (cutune_is_verbose())
            cutune_say(cutune_stderr, "cutune: %s: %lld threads\n", request->site->kernel,
                       request->extent[d]);
        return;
    }
}

// The number of the variant that the environment names, 0 without it; -1 where it names none.
static inline int cutune_named_variant(const cutune_request &asked) {
    static const char *const name = getenv("CUTUNE_VARIANT");
    if (name == nullptr || *name == 0) return -1;
    for (int v = 1; v <= asked.site->variant_count; ++v)
        if (strcmp(asked.site->variants[v - 1].name, name) == 0) return v;
    return 0;
}

// The kernel itself, or as likely one of its variants that may run; 0 is the kernel.
static inline int cutune_pick_variant(const cutune_request &asked, unsigned long long seed) {
    const int count = asked.site->variant_count;
    int drawn = cutune_named_variant(asked);
    if (drawn < 0)
        drawn = count == 0 ? 0
                           : static_cast<int>(cutune_draw(seed) %
                                              static_cast<unsigned long long>(count + 1));
    return (asked.allowed >> drawn & 1u) != 0 ? drawn : 0;
}

#endif  // CUTUNE_RANDOM_H
