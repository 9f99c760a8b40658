// The launch of a tuned program: asks the site's selection routine, and launches once. What was
// decided is remembered per thread, so that a launch of a known size costs a comparison.
// Needs cutune_launch.h, cutune_choice.h, cutune_refine.h and the table cutune_sites before it.
#ifndef CUTUNE_TUNED_H
#define CUTUNE_TUNED_H

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

enum { cutune_site_count = sizeof cutune_sites / sizeof cutune_sites[0] };
enum { cutune_most_asked = 16, cutune_ways = 4, cutune_least_sets = 8, cutune_most_sets = 128 };

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

// A decision, and all that it depends on. Nothing in it has a constructor, which each use would
// have to look after.
struct cutune_decision {
    unsigned long long asked[cutune_most_asked];
    uint3 grid, block;
    size_t smem;
    // CUDA has launched it, or it is what the program asked for: no error need be looked for.
    bool is_accepted;
    cutune_refinement *refinement;  // that decides until it is settled, or nullptr
};

struct cutune_decision_set {
    cutune_decision ways[cutune_ways];
    unsigned replaced;
};

thread_local cutune_decision_set cutune_decisions[cutune_sets];

// What a launch asks for, as far as its decision depends on it.
class cutune_question {
  public:
    cutune_question(int row, int device, dim3 grid, dim3 block, size_t smem,
                    const long long *arguments, unsigned long long integers)
        : count_(6) {
        // Neither is negative; so the first word is never 0, which says that nothing is decided.
        asked_[0] = two(static_cast<unsigned>(device), static_cast<unsigned>(row) + 1);
        asked_[1] = two(grid.x, grid.y);
        asked_[2] = two(grid.z, block.z);
        asked_[3] = two(block.x, block.y);
        asked_[4] = smem;
        asked_[5] = integers;
        const cutune_site &site = cutune_sites[row];
        unsigned long long read = (site.guard_arguments | site.select_arguments) & integers;
        for (; read != 0 && count_ < cutune_most_asked; read &= read - 1)
            asked_[count_++] = static_cast<unsigned long long>(arguments[__builtin_ctzll(read)]);
        is_whole_ = read == 0;
    }

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

class cutune_launch {
  public:
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;

    template <class... Arguments>
    cutune_launch(int site, dim3 asked_grid, dim3 asked_block, size_t asked_smem,
                  cudaStream_t asked_stream, const Arguments &...arguments)
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream),
          asked_grid_(asked_grid), asked_block_(asked_block), asked_smem_(asked_smem),
          is_pending_(true), watched_(-1), decision_(nullptr) {
        const long long integers[sizeof...(Arguments) + 1] = {cutune_integer(arguments)..., 0};
        decide(site, integers, cutune_integer_bits<Arguments...>::value);
    }

    // True once, so that the launch behind the `for` runs once; true again when the chosen block
    // asked for more registers than this build of the kernel leaves, for the launch as it was.
    bool next() {
        if (is_pending_) {
            is_pending_ = false;
            return true;
        }
        const bool again = watched_ >= 0 && was_refused();
        timed_.stop(stream, !again);
        watched_ = -1;
        if (again) keep();
        return again;
    }

  private:
    dim3 asked_grid_, asked_block_;
    size_t asked_smem_;
    bool is_pending_;
    int watched_;  // row of the site whose launch was changed and might be refused, or -1
    cutune_decision *decision_;  // by which it was changed, if that is remembered
    cutune_timed_launch timed_;

    bool is_changed() const { return !cutune_are_equal(block, asked_block_); }

    // A launch that is refused has not run. Then the site keeps its own block from now on.
    bool was_refused() {
        const cudaError_t error = cudaPeekAtLastError();
        if (error == cudaSuccess && decision_ != nullptr) decision_->is_accepted = is_settled();
        if (error != cudaErrorLaunchOutOfResources && error != cudaErrorInvalidConfiguration &&
            error != cudaErrorInvalidValue)
            return false;
        cudaGetLastError();
        cutune_given_up[watched_].store(true, std::memory_order_relaxed);
        return true;
    }

    // Will CUDA accept each such launch, as it did this one? Another kernel of the same site may
    // need more registers; shared memory may be had less of than now, but not less than the
    // program itself asks for; what is captured is not launched yet.
    bool is_settled() const {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        return decision_->refinement == nullptr && cutune_sites[watched_].is_one_kernel &&
               smem <= asked_smem_ &&
               cutune_answered(cudaStreamIsCapturing(stream, &status)) &&
               status == cudaStreamCaptureStatusNone;
    }

    void keep() {
        grid = asked_grid_;
        block = asked_block_;
        smem = asked_smem_;
    }

    void decide(int id, const long long *arguments, unsigned long long integers) {
        if ((cutune_read_mode() & cutune_mode_off) != 0) return;
        const int row = cutune_row(id), device = cutune_current_ordinal();
        if (row < 0 || device < 0 || cutune_given_up[row].load(std::memory_order_relaxed)) return;
        const cutune_question question(row, device, grid, block, smem, arguments, integers);
        bool is_known = false;
        decision_ = question.find(&is_known);
        const cutune_site &site = cutune_sites[row];
        if (is_known) {
            grid = decision_->grid;
            block = decision_->block;
            smem = decision_->smem;
            if (decision_->is_accepted) return;
        } else {
            cutune_refinement *refinement = nullptr;
            if (!choose(site, device, arguments, integers, &refinement)) decision_ = nullptr;
            if (decision_ != nullptr) {
                question.write_to(decision_);
                remember(refinement);
            }
        }
        if (decision_ != nullptr && decision_->refinement != nullptr)
            refine(site, arguments, integers);
        if (!is_changed()) return;
        // With an error pending nobody could tell whose the next one is.
        if (cudaPeekAtLastError() == cudaSuccess)
            watched_ = row;
        else
            keep();
    }

    void remember(cutune_refinement *refinement) {
        decision_->grid = grid;
        decision_->block = block;
        decision_->smem = smem;
        decision_->refinement = refinement;
        decision_->is_accepted = !is_changed() && refinement == nullptr;
    }

    // Is what was chosen to be remembered?
    bool choose(const cutune_site &site, int device, const long long *arguments,
                unsigned long long integers, cutune_refinement **refinement) {
        // A launch that CUDA will refuse has to be refused for the reason that the program knows.
        if (cutune_threads(grid) == 0 || cutune_threads(block) > 1024) return false;
        if (cutune_current_device().multiprocessors == 0) return false;
        const cutune_request request =
            cutune_make_request(site, grid, block, smem, arguments, integers);
        dim3 chosen = block;
        bool is_found = true;
        if ((cutune_read_mode() & cutune_mode_refine) != 0)
            is_found = cutune_refinement_of(site, request, device, refinement, &chosen);
        else
            chosen = site.select(&request, nullptr).block;
        fit(site, request, chosen);
        return is_found;
    }

    // The grid is computed here, by the rule that was proven, whatever the routine says.
    bool fit(const cutune_site &site, const cutune_request &request, dim3 chosen) {
        if (!cutune_fit_launch(site, request, chosen, &grid, &smem)) return false;
        block = chosen;
        return true;
    }

    void refine(const cutune_site &site, const long long *arguments, unsigned long long integers) {
        cutune_refinement *const refinement = decision_->refinement;
        const bool is_settled = refinement->is_settled.load(std::memory_order_acquire);
        const dim3 wanted = timed_.start(refinement, site.kernel, stream);
        const cutune_request request = cutune_make_request(site, asked_grid_, asked_block_,
                                                           asked_smem_, arguments, integers);
        if (!fit(site, request, wanted)) timed_.stop(stream, false);
        if (is_settled) remember(nullptr);
    }
};

}  // namespace

#endif  // CUTUNE_TUNED_H
