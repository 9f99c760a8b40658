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
                               int chosen, int own) {
    int listed[cutune_most_listed];
    list->count = 0;
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

// What is known of one kernel at one size. It is read and written under the lock, but by the thread
// that has claimed it for the launch that it is making.
struct cutune_refinement {
    unsigned long long key;
    int device;
    int count, launches, winner;  // winner: -1 until it is known
    std::atomic<int> in_flight;   // candidate whose end has not been seen, or one of:
    dim3 blocks[cutune_most_listed];
    float best_ms[cutune_most_listed];
    cudaEvent_t begin, end;
};

enum { cutune_idle = -1, cutune_claimed = -2 };
enum { cutune_most_refined = 256, cutune_rounds = 3 };

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
    entry->in_flight.store(cutune_idle);
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

// The time of the launch whose end has been reached meanwhile; who has won when it was the last.
inline void cutune_collect_time(cutune_refinement *entry, const char *kernel) {
    const int candidate = entry->in_flight.load(std::memory_order_acquire);
    if (candidate < 0 || !cutune_answered(cudaEventQuery(entry->end))) return;
    float ms = 0;
    entry->in_flight.store(cutune_idle, std::memory_order_relaxed);
    if (!cutune_answered(cudaEventElapsedTime(&ms, entry->begin, entry->end))) return;
    if (ms < entry->best_ms[candidate]) entry->best_ms[candidate] = ms;
    if (entry->launches < cutune_rounds * entry->count) return;
    int best = 0;
    for (int c = 1; c < entry->count; ++c)
        if (entry->best_ms[c] < entry->best_ms[best]) best = c;
    // Below 2 % nobody can tell: then the model's choice stays.
    entry->winner = entry->best_ms[0] <= 1.02f * entry->best_ms[best] ? 0 : best;
    cutune_answered(cudaEventDestroy(entry->begin));
    cutune_answered(cudaEventDestroy(entry->end));
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
    cutune_timed_launch() : entry_(nullptr), candidate_(0) {}

    // The block to launch with. The clock is running where the launch is timed.
    dim3 start(const cutune_site &site, const cutune_request &request, cudaStream_t stream) {
        cutune_shortlist list = {};
        const dim3 chosen = site.select(&request, &list).block;
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (list.key == 0 || cudaPeekAtLastError() != cudaSuccess) return chosen;
        if (!cutune_answered(cudaStreamIsCapturing(stream, &status))) return chosen;
        const bool is_capturing = status != cudaStreamCaptureStatusNone;
        const cutune_refinement_lock lock;
        if (!lock.is_held) return chosen;
        cutune_read_refinements();
        cutune_refinement *entry = cutune_find_refinement(list.key);
        if (entry == nullptr && !is_capturing) {
            list.wants_blocks = true;
            site.select(&request, &list);
            entry = list.count < 2 ? nullptr : added(list);
        }
        if (entry == nullptr) return chosen;
        const bool may_time = !is_capturing && entry->device == cutune_current_ordinal();
        if (entry->winner < 0 && may_time) cutune_collect_time(entry, site.kernel);
        if (entry->winner >= 0) return entry->blocks[entry->winner];
        if (!may_time || entry->in_flight.load(std::memory_order_acquire) != cutune_idle ||
            !cutune_answered(cudaEventRecord(entry->begin, stream)))
            return chosen;
        entry->in_flight.store(cutune_claimed, std::memory_order_relaxed);
        entry_ = entry;
        candidate_ = entry->launches++ % entry->count;
        return entry->blocks[candidate_];
    }

    // Behind the launch, or in place of it.
    void stop(cudaStream_t stream, bool has_run) {
        if (entry_ == nullptr) return;
        const bool is_recorded = has_run && cudaPeekAtLastError() == cudaSuccess &&
                                 cutune_answered(cudaEventRecord(entry_->end, stream));
        entry_->in_flight.store(is_recorded ? candidate_ : cutune_idle, std::memory_order_release);
        entry_ = nullptr;
    }

  private:
    cutune_refinement *entry_;
    int candidate_;

    static cutune_refinement *added(const cutune_shortlist &list) {
        cudaEvent_t begin, end;
        if (!cutune_answered(cudaEventCreate(&begin))) return nullptr;
        if (!cutune_answered(cudaEventCreate(&end))) return nullptr;
        cutune_refinement *const entry = cutune_add_refinement(list.key);
        if (entry == nullptr) return nullptr;
        entry->begin = begin;
        entry->end = end;
        entry->device = cutune_current_ordinal();
        entry->count = list.count;
        for (int i = 0; i < list.count; ++i) entry->blocks[i] = list.blocks[i];
        return entry;
    }
};

#endif  // CUTUNE_REFINE_H
