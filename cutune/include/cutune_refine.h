// CUTUNE=refine: the program's own block stays until another has proved to be faster, in the launches
// that the program makes anyway. No launch is added, and nothing is waited for. Needs cutune_host.h
// and cutune_choice.h before it.
//
// Of many launches at one size one tries a candidate of the model's, and the one before it is timed
// too, with the block of the day. So that a candidate that takes twice as long costs 2 %, and
// a program that ends before the first trial has lost nothing.
//
//   CUTUNE_REFINE_FILE   what was found is appended there, and read at the start
#ifndef CUTUNE_REFINE_H
#define CUTUNE_REFINE_H

#include <cuda_runtime.h>

inline unsigned long long cutune_hash(const char *name, const long long *words, int count) {
    unsigned long long hash = 14695981039346656037ull;
    for (; *name != 0; ++name)
        hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211ull;
    for (int i = 0; i < count; ++i)
        for (int shift = 0; shift < 64; shift += 8)
            hash = (hash ^ (static_cast<unsigned long long>(words[i]) >> shift & 255u)) *
                   1099511628211ull;
    return hash == 0 ? 1 : hash;
}

// `all` says which block a candidate has, and below which time the launch dominates.
template <class Candidates>
inline void cutune_list_blocks(cutune_shortlist *list, const double *time,
                               const unsigned char *valid, const Candidates &all, int count,
                               int chosen, int own) {
    int listed[cutune_most_listed];
    list->count = 0;
    // Where the launch takes longer than the kernel there is nothing to win.
    if (chosen >= 0 && time[chosen] < all.bound_below) return;
    for (int next = chosen; next >= 0 && list->count < cutune_most_listed;) {
        listed[list->count] = next;
        list->blocks[list->count++] = all.block(next);
        next = list->count == 1 && own >= 0 && own != chosen && valid[own] != 0 ? own : -1;
        for (int c = 0; next < 0 && c < count; ++c) {
            // The fastest that is not listed yet.
            bool is_best = valid[c] != 0;
            for (int i = 0; i < list->count; ++i) is_best = is_best && listed[i] != c;
            for (int other = 0; is_best && other < count; ++other) {
                bool is_listed = valid[other] == 0;
                for (int i = 0; i < list->count; ++i) is_listed = is_listed || listed[i] == other;
                if (!is_listed && time[other] < time[c]) is_best = false;
            }
            if (is_best) next = c;
        }
    }
}

enum { cutune_spacing = 50, cutune_rounds = 3, cutune_most_refined = 256 };
const float cutune_unknown_ms = 1e30f;
enum { cutune_most_timed = 2 * cutune_rounds * cutune_most_listed };

// A launch that is timed. It belongs to the thread that makes the launch until `is_over`.
struct cutune_timing {
    int candidate;
    cudaEvent_t begin, end;
    bool is_recorded;
    cutune_atomic<bool> is_over;
};

// What is known of one kernel at one size and device. `blocks` stay as they are once it is found by
// others; what is not atomic besides is read and written under the lock.
struct cutune_refined {
    unsigned long long key;
    int device;  // or -1: from the file
    int count;
    dim3 blocks[cutune_most_listed];  // the program's own, then the candidates
    cutune_atomic<unsigned> launches;
    cutune_atomic<int> current;      // the one that is used
    cutune_atomic<bool> is_settled;  // and stays
    int tried;                       // the candidate that is tried
    int tries, answers;              // how often it was, and of how many of these the time is known
    int timed, read;                 // launches with a clock, and how many of these were read
    float best_ms[cutune_most_listed];
    cutune_timing timings[cutune_most_timed];
};

struct cutune_refinements {
    cutune_atomic<bool> is_busy;
    bool is_read, is_told;
    int count;
    cutune_refined entries[cutune_most_refined];
};

inline cutune_refinements &cutune_all_refined() {
    static cutune_refinements all;
    return all;
}

// Does not wait for long: a fork may have left the lock behind, and timing is not needed.
class cutune_lock {
  public:
    cutune_lock() : is_held(false) {
        for (int attempt = 0; attempt < 1000 && !is_held; ++attempt)
            is_held = !cutune_all_refined().is_busy.exchange(true);
    }
    cutune_lock(const cutune_lock &) = delete;
    cutune_lock &operator=(const cutune_lock &) = delete;
    ~cutune_lock() {
        if (is_held) cutune_all_refined().is_busy.set(false);
    }
    bool is_held;
};

inline cutune_refined *cutune_add_refinement(unsigned long long key, int device, dim3 own) {
    cutune_refinements &all = cutune_all_refined();
    if (all.count == cutune_most_refined) return nullptr;
    cutune_refined *const entry = &all.entries[all.count++];
    entry->key = key;
    entry->device = device;
    entry->count = 1;
    entry->blocks[0] = own;
    entry->tried = 1;
    for (int i = 0; i < cutune_most_listed; ++i) entry->best_ms[i] = cutune_unknown_ms;
    return entry;
}

inline cutune_refined *cutune_find_refinement(unsigned long long key, int device) {
    cutune_refinements &all = cutune_all_refined();
    for (int i = 0; i < all.count; ++i) {
        cutune_refined *const entry = &all.entries[i];
        if (entry->key == key && (entry->device == device || entry->device == -1)) return entry;
    }
    return nullptr;
}

// The file that is asked for, opened as fopen does, or null.
inline void *cutune_refine_file(const char *mode) {
    const char *const path = getenv("CUTUNE_REFINE_FILE");
    if (path == nullptr) return nullptr;
    void *const file = cutune_open(path, mode);
    if (file == nullptr && *mode == 'a' && !cutune_all_refined().is_told)
        cutune_all_refined().is_told =
            cutune_say(cutune_stderr, "cutune: cannot write to CUTUNE_REFINE_FILE=%s\n", path) > 0;
    return file;
}

inline void cutune_read_refinements() {
    cutune_refinements &all = cutune_all_refined();
    if (all.is_read) return;
    all.is_read = true;
    void *const file = cutune_refine_file("r");
    if (file == nullptr) return;
    char line[128];
    while (cutune_gets(line, sizeof line, file) != nullptr) {
        unsigned long long key;
        unsigned x, y, z;
        if (cutune_scan(line, "cutune-refine-1 %llx %u %u %u", &key, &x, &y, &z) != 4) continue;
        cutune_refined *entry = cutune_find_refinement(key, -1);
        if (entry == nullptr) entry = cutune_add_refinement(key, -1, dim3(x, y, z));
        if (entry == nullptr) break;
        entry->blocks[0] = dim3(x, y, z);  // the last line counts
        entry->is_settled.set(true);
    }
    cutune_close(file);
}

inline void cutune_write_refinement(const cutune_refined &entry) {
    void *const file = cutune_refine_file("a");
    if (file == nullptr) return;
    const dim3 block = entry.blocks[entry.current.get()];
    // A line is shorter than the buffer, so that it is written at once.
    cutune_say(file, "cutune-refine-1 %016llx %u %u %u\n", entry.key, block.x, block.y, block.z);
    cutune_close(file);
}

// The next candidate, or none: then what is used now stays.
inline void cutune_try_next(cutune_refined *entry) {
    ++entry->tried;
    entry->tries = entry->answers = 0;
}

// The time of one launch is known.
inline void cutune_judge(cutune_refined *entry, int candidate, float ms) {
    const int current = entry->current.get();
    if (ms < entry->best_ms[candidate]) entry->best_ms[candidate] = ms;
    if (candidate == current || candidate != entry->tried) return;
    const float before = entry->best_ms[current], after = entry->best_ms[candidate];
    // Who is clearly slower is not tried again. Below 2 % nobody can tell.
    if (++entry->answers < cutune_rounds && after <= 1.1f * before) return;
    if (entry->answers == cutune_rounds && after < 0.98f * before && before < cutune_unknown_ms)
        entry->current.set(candidate);
    cutune_try_next(entry);
}

// Read the clocks that have stopped, in their order.
inline void cutune_read_timings(cutune_refined *entry) {
    for (; entry->read != entry->timed; ++entry->read) {
        const cutune_timing &timing = entry->timings[entry->read];
        if (!timing.is_over.get()) return;
        if (timing.is_recorded && cudaEventQuery(timing.end) == cudaErrorNotReady) {
            cudaGetLastError();
            return;
        }
        float ms = 0;
        if (!timing.is_recorded ||
            cutune_refused(cudaEventElapsedTime(&ms, timing.begin, timing.end)))
            ms = cutune_unknown_ms;
        cutune_refused(cudaEventDestroy(timing.begin));
        cutune_refused(cudaEventDestroy(timing.end));
        cutune_judge(entry, timing.candidate, ms);
    }
}

inline void cutune_settle(cutune_refined *entry, const char *kernel) {
    entry->is_settled.set(true);
    cutune_write_refinement(*entry);
    if (!cutune_is_verbose()) return;
    const int current = entry->current.get();
    const dim3 first = entry->blocks[0], last = entry->blocks[current];
    cutune_say(cutune_stderr,
               "cutune: %s refined: block %ux%ux%u (%.4f ms) -> %ux%ux%u (%.4f ms)\n", kernel,
               first.x, first.y, first.z, static_cast<double>(entry->best_ms[0]), last.x, last.y,
               last.z, static_cast<double>(entry->best_ms[current]));
}

// What is to be tried at the sizes of a request; nullptr where nothing is, so that `block` stays.
// False when it could not be found out now.
inline bool cutune_refinement_of(const cutune_site &site, const cutune_request &request,
                                 int device, cutune_refined **found, dim3 *block) {
    cutune_shortlist list = {};
    *block = site.select(&request, &list).block;
    *found = nullptr;
    if (list.key == 0) return true;
    *block = request.block;
    const cutune_lock lock;
    if (!lock.is_held) return false;
    cutune_read_refinements();
    cutune_refined *entry = cutune_find_refinement(list.key, device);
    if (entry == nullptr && list.count > 0)
        entry = cutune_add_refinement(list.key, device, request.block);
    *found = entry;
    if (entry == nullptr || entry->count > 1 || entry->device == -1) return true;
    for (int i = 0; i < list.count && entry->count != cutune_most_listed; ++i) {
        if (!cutune_same(list.blocks[i], request.block))
            entry->blocks[entry->count++] = list.blocks[i];
    }
    if (entry->count == 1) entry->is_settled.set(true);
    return true;
}

// One launch that may be timed.
class cutune_timed_launch {
  public:
    cutune_timed_launch() : timing_(nullptr) {}

    // The block to launch with. The clock is running where the launch is timed.
    dim3 start(cutune_refined *entry, const char *kernel, cudaStream_t stream) {
        const unsigned turn =
            entry->launches.add(1) % cutune_spacing;
        int candidate = entry->current.get();
        if (turn + 2 < cutune_spacing || entry->is_settled.get() ||
            cudaPeekAtLastError() != cudaSuccess)
            return entry->blocks[candidate];
        const cutune_lock lock;
        if (!lock.is_held || cutune_captures(stream)) return entry->blocks[candidate];
        cutune_read_timings(entry);
        candidate = entry->current.get();
        const bool is_over = entry->tried == entry->count || entry->timed == cutune_most_timed;
        if (is_over && entry->read == entry->timed) cutune_settle(entry, kernel);
        if (is_over || entry->tries == cutune_rounds) return entry->blocks[candidate];
        const bool tries = turn + 1 == cutune_spacing;
        if (!begin(entry, tries ? entry->tried : candidate, stream)) return entry->blocks[candidate];
        if (tries) ++entry->tries;
        return entry->blocks[tries ? entry->tried : candidate];
    }

    // Behind the launch, or in place of it.
    void stop(cudaStream_t stream, bool has_run) {
        if (timing_ == nullptr) return;
        timing_->is_recorded = timing_->is_recorded && has_run &&
                               cudaPeekAtLastError() == cudaSuccess &&
                               !cutune_refused(cudaEventRecord(timing_->end, stream));
        timing_->is_over.set(true);
        timing_ = nullptr;
    }

  private:
    cutune_timing *timing_;

    bool begin(cutune_refined *entry, int candidate, cudaStream_t stream) {
        cutune_timing *const timing = &entry->timings[entry->timed];
        if (cutune_refused(cudaEventCreate(&timing->begin))) return false;
        if (cutune_refused(cudaEventCreate(&timing->end))) {
            cutune_refused(cudaEventDestroy(timing->begin));
            return false;
        }
        ++entry->timed;
        timing->candidate = candidate;
        timing->is_recorded = !cutune_refused(cudaEventRecord(timing->begin, stream));
        timing_ = timing;
        return true;
    }
};

#endif  // CUTUNE_REFINE_H
