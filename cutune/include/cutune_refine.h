// CUTUNE=refine: the model's first candidates are timed in the launches that the program makes
// anyway, one candidate per launch, until the fastest is known for these sizes. No launch is added,
// nothing is waited for, and whatever cannot be timed runs as the model says.
//
//   CUTUNE_REFINE_FILE   what was found is appended there, and read at the start
#ifndef CUTUNE_REFINE_H
#define CUTUNE_REFINE_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

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

inline dim3 cutune_block_at(const unsigned short *blocks, int index) {
    return dim3(blocks[3 * index], blocks[3 * index + 1], blocks[3 * index + 2]);
}

inline void cutune_list_blocks(cutune_shortlist *list, const double *time,
                               const unsigned char *valid, const unsigned short *blocks, int count,
                               int chosen, int own, double bound_below) {
    int listed[cutune_most_listed];
    list->count = 0;
    // Where the launch takes longer than the kernel there is nothing to win.
    if (chosen >= 0 && time[chosen] < bound_below) return;
    for (int next = chosen; next >= 0 && list->count < cutune_most_listed;) {
        listed[list->count] = next;
        list->blocks[list->count++] = cutune_block_at(blocks, next);
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

enum { cutune_rounds = 3, cutune_most_timed = cutune_rounds * cutune_most_listed };
enum { cutune_most_refined = 256 };

// A launch that is timed. It belongs to the thread that makes the launch until `is_over`.
struct cutune_timing {
    cudaEvent_t begin, end;
    bool is_recorded;
    std::atomic<bool> is_over;
};

// What is known of one kernel at one size. It is read and written under the lock.
struct cutune_refinement {
    unsigned long long key;
    int device;
    int count, timed, waits;
    int winner;  // -1 until it is known
    dim3 blocks[cutune_most_listed];
    float best_ms[cutune_most_listed];
    cutune_timing timings[cutune_most_timed];  // the candidates in turn
};

struct cutune_refinements {
    std::atomic<bool> is_busy;
    bool is_read;
    int count;
    cutune_refinement entries[cutune_most_refined];
};

inline cutune_refinements &cutune_all_refinements() {
    static cutune_refinements all;
    return all;
}

// Does not wait for long: a fork may have left the lock behind, and timing is not needed.
class cutune_refinement_lock {
  public:
    cutune_refinement_lock() : is_held(false) {
        for (int attempt = 0; attempt < 1000 && !is_held; ++attempt)
            is_held = !cutune_all_refinements().is_busy.exchange(true, std::memory_order_acquire);
    }
    cutune_refinement_lock(const cutune_refinement_lock &) = delete;
    cutune_refinement_lock &operator=(const cutune_refinement_lock &) = delete;
    ~cutune_refinement_lock() {
        if (is_held) cutune_all_refinements().is_busy.store(false, std::memory_order_release);
    }
    bool is_held;
};

inline cutune_refinement *cutune_add_refinement(unsigned long long key) {
    cutune_refinements &all = cutune_all_refinements();
    if (all.count == cutune_most_refined) return nullptr;
    cutune_refinement *const entry = &all.entries[all.count++];
    entry->key = key;
    entry->winner = -1;
    for (int i = 0; i < cutune_most_listed; ++i) entry->best_ms[i] = 1e30f;
    return entry;
}

inline cutune_refinement *cutune_find_refinement(unsigned long long key) {
    cutune_refinements &all = cutune_all_refinements();
    for (int i = 0; i < all.count; ++i)
        if (all.entries[i].key == key) return &all.entries[i];
    return nullptr;
}

inline void cutune_read_refinements() {
    cutune_refinements &all = cutune_all_refinements();
    if (all.is_read) return;
    all.is_read = true;
    const char *const path = getenv("CUTUNE_REFINE_FILE");
    FILE *const file = path == nullptr ? nullptr : fopen(path, "r");
    if (file == nullptr) return;
    char line[128];
    while (fgets(line, sizeof line, file) != nullptr) {
        unsigned long long key;
        unsigned x, y, z;
        if (sscanf(line, "cutune-refine-1 %llx %u %u %u", &key, &x, &y, &z) != 4) continue;
        cutune_refinement *entry = cutune_find_refinement(key);
        if (entry == nullptr) entry = cutune_add_refinement(key);
        if (entry == nullptr) break;
        entry->blocks[0] = dim3(x, y, z);
        entry->count = 1;
        entry->winner = 0;
    }
    fclose(file);
}

inline void cutune_write_refinement(const cutune_refinement &entry) {
    const char *const path = getenv("CUTUNE_REFINE_FILE");
    FILE *const file = path == nullptr ? nullptr : fopen(path, "a");
    if (file == nullptr) return;
    const dim3 block = entry.blocks[entry.winner];
    // A line is shorter than the buffer, so that it is written at once.
    fprintf(file, "cutune-refine-1 %016llx %u %u %u\n", entry.key, block.x, block.y, block.z);
    fclose(file);
}

// Have all timed launches come to their end? It is asked for ever more rarely, because it costs
// more than a launch that is only queued.
inline bool cutune_is_timed(cutune_refinement *entry) {
    const int all = cutune_rounds * entry->count;
    if (entry->timed < all) return false;
    ++entry->waits;
    if ((entry->waits & (entry->waits - 1)) != 0) return false;
    for (int i = all - 1; i >= 0; --i) {
        const cutune_timing &timing = entry->timings[i];
        if (!timing.is_over.load(std::memory_order_acquire)) return false;
        if (timing.is_recorded && !cutune_answered(cudaEventQuery(timing.end))) return false;
    }
    return true;
}

// Who has won, once all times are known.
inline void cutune_find_winner(cutune_refinement *entry, const char *kernel) {
    for (int i = 0; i < cutune_rounds * entry->count; ++i) {
        float ms = 0, *const best = &entry->best_ms[i % entry->count];
        const cutune_timing &timing = entry->timings[i];
        if (timing.is_recorded &&
            cutune_answered(cudaEventElapsedTime(&ms, timing.begin, timing.end)) && ms < *best)
            *best = ms;
        cutune_answered(cudaEventDestroy(timing.begin));
        cutune_answered(cudaEventDestroy(timing.end));
    }
    int best = 0;
    for (int c = 1; c < entry->count; ++c)
        if (entry->best_ms[c] < entry->best_ms[best]) best = c;
    // Below 2 % nobody can tell: then the model's choice stays.
    entry->winner = entry->best_ms[0] <= 1.02f * entry->best_ms[best] ? 0 : best;
    cutune_write_refinement(*entry);
    if (!cutune_is_verbose()) return;
    const dim3 first = entry->blocks[0], last = entry->blocks[entry->winner];
    fprintf(stderr, "cutune: %s refined: block %ux%ux%u (%.4f ms) -> %ux%ux%u (%.4f ms)\n", kernel,
            first.x, first.y, first.z, static_cast<double>(entry->best_ms[0]), last.x, last.y,
            last.z, static_cast<double>(entry->best_ms[entry->winner]));
}

// One launch that may be timed.
class cutune_timed_launch {
  public:
    cutune_timed_launch() : timing_(nullptr) {}

    // The block to launch with. The clock is running where the launch is timed.
    dim3 start(const cutune_site &site, const cutune_request &request, cudaStream_t stream) {
        cutune_shortlist list = {};
        const dim3 chosen = site.select(&request, &list).block;
        if (list.key == 0 || cudaPeekAtLastError() != cudaSuccess) return chosen;
        const cutune_refinement_lock lock;
        if (!lock.is_held) return chosen;
        cutune_read_refinements();
        cutune_refinement *entry = cutune_find_refinement(list.key);
        if (entry != nullptr && entry->winner >= 0) return entry->blocks[entry->winner];
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (!cutune_answered(cudaStreamIsCapturing(stream, &status)) ||
            status != cudaStreamCaptureStatusNone)
            return chosen;
        const int device = cutune_current_ordinal();
        if (entry == nullptr) {
            list.wants_blocks = true;
            site.select(&request, &list);
            entry = cutune_add_refinement(list.key);
            if (entry == nullptr) return chosen;
            entry->device = device;
            entry->count = list.count;
            for (int i = 0; i < list.count; ++i) entry->blocks[i] = list.blocks[i];
            if (list.count < 2) {
                entry->blocks[0] = chosen;
                entry->winner = 0;
            }
        }
        if (entry->winner < 0 && entry->device == device && cutune_is_timed(entry))
            cutune_find_winner(entry, site.kernel);
        if (entry->winner >= 0) return entry->blocks[entry->winner];
        if (entry->device != device || entry->timed == cutune_rounds * entry->count) return chosen;
        return begin(entry, stream) ? entry->blocks[(entry->timed - 1) % entry->count] : chosen;
    }

    // Behind the launch, or in place of it.
    void stop(cudaStream_t stream, bool has_run) {
        if (timing_ == nullptr) return;
        timing_->is_recorded = has_run && cudaPeekAtLastError() == cudaSuccess &&
                               cutune_answered(cudaEventRecord(timing_->end, stream));
        timing_->is_over.store(true, std::memory_order_release);
        timing_ = nullptr;
    }

  private:
    cutune_timing *timing_;

    bool begin(cutune_refinement *entry, cudaStream_t stream) {
        cutune_timing *const timing = &entry->timings[entry->timed];
        if (!cutune_answered(cudaEventCreate(&timing->begin))) return false;
        if (!cutune_answered(cudaEventCreate(&timing->end))) {
            cutune_answered(cudaEventDestroy(timing->begin));
            return false;
        }
        ++entry->timed;
        timing_ = timing;
        if (cutune_answered(cudaEventRecord(timing->begin, stream))) return true;
        stop(stream, false);
        return true;
    }
};

#endif  // CUTUNE_REFINE_H
