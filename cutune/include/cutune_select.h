// What the selection routines of a tuned program share: which candidates fit a launch, and which of
// them is chosen by the predicted times. Needs cutune_host.h, cutune_launch.h, cutune_choice.h,
// cutune_refine.h and cutune_tables.h before it.
#ifndef CUTUNE_SELECT_H
#define CUTUNE_SELECT_H

// The candidates of a kernel on one device, and the rule of the choice. A `Place` is text or numbers.
template <class Place>
struct cutune_candidates {
    const char *kernel, *extents;
    // Per dimension the widths that candidates have, how many, and which of them each candidate has:
    // nullptr where there is only one.
    const unsigned short *widths[3];
    int width_counts[3];
    const Place *places[3];
    // In a tie the smaller rank is preferred: where the launch dominates, and otherwise.
    const Place *bound_ranks, *ranks;
    // Bit d: the block may be changed in dimension d; the number of blocks stays.
    unsigned free, kept;
    // Predicted times below are dominated by the launch; widths of the bands of what is alike.
    double bound_below, bound_band, band;
    // The program's own block stays within this band: if the best one is not larger, and if it is.
    double own_band, own_band_larger;

    int place(int axis, int candidate) const {
        return places[axis] == nullptr ? 0 : cutune_entry(places[axis], candidate);
    }
    dim3 block(int candidate) const {
        return dim3(widths[0][place(0, candidate)], widths[1][place(1, candidate)],
                    widths[2][place(2, candidate)]);
    }
};

// Is the current device like the one that was modelled?
static inline bool cutune_is_current(int multiprocessors, int major, int minor) {
    const cutune_device gpu = cutune_current_device();
    return gpu.multiprocessors == multiprocessors && gpu.major == major && gpu.minor == minor;
}

// CUTUNE=verbose: one line per new decision.
static inline void cutune_print(const char *kernel, const char *extents,
                                         const cutune_request &asked,
                                         const cutune_chosen &chosen) {
    if (!cutune_is_verbose() || asked.guarded >> 3) return;
    cutune_say(cutune_stderr,
               "cutune: %s, %lld x %lld x %lld %s: block %ux%ux%u -> %ux%ux%u\n", kernel,
               asked.extent[0], asked.extent[1], asked.extent[2], extents, asked.block.x,
               asked.block.y, asked.block.z, chosen.block.x, chosen.block.y, chosen.block.z);
}

// The same of a kernel with variants.
static inline void cutune_print_variant(const char *kernel, const char *extents,
                                        const cutune_request &asked,
                                        const cutune_chosen &chosen) {
    cutune_print(kernel, extents, asked, chosen);
    if (chosen.variant != 0 && cutune_is_verbose())
        cutune_say(cutune_stderr,
                   "cutune: %s: variant %s in place of the kernel (cutune help variants)\n", kernel,
                   asked.site->variants[chosen.variant - 1].name);
}

// The number of a variant that may run at this launch, or 0. Names are short, and looked up once per
// size.
inline int cutune_allowed(const cutune_request &asked, const char *name) {
    for (int v = 1; v <= asked.site->variant_count; ++v)
        if ((asked.allowed >> v & 1u) != 0 && strcmp(asked.site->variants[v - 1].name, name) == 0)
            return v;
    return 0;
}

// Take a variant if it is faster than `best`, after its pointers were asked about, which takes
// `asking_us`. From `sure_us` on it is known to be faster than the kernel itself.
inline void cutune_prefer(cutune_chosen *best, cutune_chosen other, int variant,
                          double asking_us, double sure_us, bool *is_sure) {
    if (other.us <= 0) return;
    other.us += asking_us;
    other.variant = variant;
    if (best->us > 0 && other.us >= best->us) return;
    *best = other;
    *is_sure = other.us >= sure_us;
}

// Do the sizes lie where the model may be asked? Then `list`, if there is one, gets its key.
template <int count>
inline bool cutune_may_ask(const char *kernel, const cutune_request &asked,
                           const long long *sizes, cutune_shortlist *list) {
    long long key[5 + count] = {asked.guarded,
                                (asked.block.x << 20) + (asked.block.y << 8) + asked.block.z,
                                asked.extent[0], asked.extent[1], asked.extent[2]};
    for (int i = 0; i < count; ++i) key[5 + i] = sizes[i];
    if (list != nullptr) list->key = cutune_hash(kernel, key, 5 + count);
    for (int i = 2; i < 5 + count; ++i)
        if (key[i] < 1 || key[i] > 1ll << 31) return false;
    return true;
}

// Which candidates cover the same threads; the index of the program's own block, or -1.
template <int count, class Place>
inline int cutune_find_valid(const cutune_candidates<Place> &all, const cutune_request &asked,
                             unsigned char *valid) {
    const unsigned own_block[3] = {asked.block.x, asked.block.y, asked.block.z};
    enum { covers = 1, is_own = 2 };
    unsigned char fits[3][1024];
    int own = -1;
    // Of a width that is a multiple of 32, warps depend on the new width alone.
    const bool keeps_warps = cutune_needs_warps(*asked.site, asked);
    const bool by_width = keeps_warps && asked.block.x % 32 == 0;
    // A width is judged once, not once per candidate: that saves most of the divisions.
    for (int d = 0; d < 3; ++d) {
        const bool is_free = (all.free >> d & 1u) != 0, is_kept = (all.kept >> d & 1u) != 0;
        const bool guarded = (asked.guarded >> d & 1u) != 0;
        for (int w = 0; w < all.width_counts[d]; ++w) {
            const unsigned width = all.widths[d][w];
            // As many blocks as a grid may have: ceil(extent / width) <= most.
            bool does =
                is_kept ||
                (is_free && (guarded || static_cast<unsigned>(asked.extent[d]) % width == 0) &&
                 asked.extent[d] <= cutune_most_blocks(d) * width);
            if (by_width && d == 0) does &= cutune_keeps_warps(asked.block, dim3(width));
            fits[d][w] = width == own_block[d] ? covers | is_own : does;
        }
    }
    for (int c = 0; c < count; ++c) {
        // Without branches: of any three sizes, each may fit or not.
        const int does =
            fits[0][all.place(0, c)] & fits[1][all.place(1, c)] & fits[2][all.place(2, c)];
        if ((does & is_own) != 0) own = c;
        valid[c] = does & covers;
    }
    if (keeps_warps && !by_width)
        for (int c = 0; c < count; ++c)
            if (c != own && !cutune_keeps_warps(asked.block, all.block(c))) valid[c] = 0;
    return own;
}

// The index of the chosen candidate, or -1 where none is valid: `selection.choose`, line for line.
template <int count, class Place>
inline int cutune_choose(const cutune_candidates<Place> &all, const double *time,
                         const double *time_with_floor, const unsigned char *valid, int own) {
    // Of few blocks none need be better than one of which nothing is known.
    if (own < 0 && count < 4) return -1;
    double best = 1e300;
    for (int c = 0; c < count; ++c) {
        const double here = valid[c] ? time_with_floor[c] : 1e300;
        best = here < best ? here : best;
    }
    if (own >= 0 && valid[own]) {
        double own_band = all.own_band;
        if (all.own_band_larger != own_band) {
            int first = own;
            for (int c = count - 1; c >= 0; --c)
                if (valid[c] && time_with_floor[c] <= best) first = c;
            if (cutune_threads(all.block(first)) > cutune_threads(all.block(own)))
                own_band = all.own_band_larger;
        }
        if (time_with_floor[own] <= best * own_band) return own;
    }
    const bool bound = best < all.bound_below;
    const double limit = best * (bound ? all.bound_band : all.band);
    const Place *const rank = bound ? all.bound_ranks : all.ranks;
    int chosen = -1;
    for (int c = 0; c < count; ++c) {
        if (!valid[c] || !(time_with_floor[c] <= limit)) continue;
        const int more = chosen < 0 ? -1 : cutune_entry(rank, c) - cutune_entry(rank, chosen);
        if (more < 0 || (more == 0 && time[c] < time[chosen])) chosen = c;
    }
    return chosen;
}

// The answer of a selection routine, by the times that its model predicts. `is_alone`: nothing else
// decides for the launch.
template <int count, class Place>
inline cutune_chosen cutune_answer(const cutune_candidates<Place> &all,
                                          const cutune_request &asked, const double *time,
                                          const double *time_with_floor, cutune_shortlist *list,
                                          bool is_alone) {
    cutune_chosen answer = cutune_only_block(asked.block);
    unsigned char valid[count];
    const int own = cutune_find_valid<count>(all, asked, valid);
    const int chosen = cutune_choose<count>(all, time, time_with_floor, valid, own);
    if (chosen >= 0) {
        answer.block = all.block(chosen);
        answer.us = time_with_floor[chosen];
    }
    if (list != nullptr)
        cutune_list_blocks(list, time_with_floor, valid, all, count, chosen, own);
    else if (is_alone)
        cutune_print(all.kernel, all.extents, asked, answer);
    return answer;
}

#endif  // CUTUNE_SELECT_H
