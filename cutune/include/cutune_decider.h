// How a launch is decided that is not known yet, or whose decision has to be looked at again. It is
// compiled to be small: it takes microseconds anyway.
// Needs cutune_question.h and `cutune_remembers` before it.
#ifndef CUTUNE_DECIDER_H
#define CUTUNE_DECIDER_H

namespace {

// What was asked of the kernel that a site launched last, and of its variants.
struct cutune_known_kernel {
    const void *kernel;
    int device;
    cutune_limits limits;
};

thread_local cutune_known_kernel cutune_known_kernels[cutune_site_count][cutune_most_variants + 1];

// False when it could not be found out now.
inline bool cutune_limits_of(int row, int device, const void *kernel, cutune_limits *limits,
                             int variant = 0) {
    cutune_known_kernel &known = cutune_known_kernels[row][variant];
    if (kernel == nullptr || known.kernel != kernel || known.device != device) {
        if (!cutune_ask_kernel(cutune_sites[row], kernel, limits)) return false;
        known.kernel = kernel;
        known.device = device;
        known.limits = *limits;
    }
    *limits = known.limits;
    return true;
}

inline bool cutune_is_captured(cudaStream_t stream) {
    if (cutune_is_legacy(stream)) return false;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !cutune_answered(cudaStreamIsCapturing(stream, &status)) ||
           status != cudaStreamCaptureStatusNone;
}

class cutune_decider {
  public:
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;
    int variant;  // of the kernel, or 0: itself

  protected:
    cutune_word signature_;
    cutune_decision *decision_;  // by which it was changed, if that is remembered

    cutune_decider(dim3 asked_grid, dim3 asked_block, size_t asked_smem, cudaStream_t asked_stream,
                   cutune_word signature)
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream), variant(0),
          signature_(signature), decision_(nullptr), asked_grid_(asked_grid),
          asked_block_(asked_block), asked_smem_(asked_smem), is_captured_(false), watched_(-1) {}

    void set(const cutune_plan &plan) {
        grid = plan.grid;
        block = plan.block;
        smem = plan.smem;
    }

    // Has the launch to be looked at behind it?
    bool is_watched() const { return watched_ >= 0 || timed_.is_running(); }

    // Behind the launch: was it refused? Then it is to be made as it was asked for.
    __attribute__((noinline)) bool ends_refused() {
        const bool again = watched_ >= 0 && was_refused();
        timed_.stop(stream, !again);
        watched_ = -1;
        if (again) keep();
        return again;
    }

    // Decide what is not known, and look at what is known again.
    __attribute__((noinline)) void settle(cutune_question *question, bool is_known, int row,
                                          int device, const void *kernel,
                                          const void *const *variants, const long long *arguments,
                                          unsigned long long integers) {
        if (!is_known || (decision_->is_for_now && !cutune_is_legacy(stream))) {
            // With an error pending nobody could tell whose the next one is.
            if (cudaPeekAtLastError() != cudaSuccess) return;
            is_captured_ = cutune_is_captured(stream);
            if (is_captured_) {
                question->capture();
                decision_ = question->find(&is_known);
            }
        }
        const cutune_site &site = cutune_sites[row];
        cutune_memory allocations;
        cutune_limits limits = {0, 0};
        if (is_known && !holds(site, *decision_, arguments, integers, &allocations)) {
            // This time the pointers lead elsewhere: the decision stays, for when they do not.
            if (cudaPeekAtLastError() != cudaSuccess) return;
            is_known = false;
            decision_ = nullptr;
        }
        if (is_known) {
            set(decision_->plan);
            variant = decision_->variant;
            if (decision_->is_accepted) return;
        } else {
            cutune_decision made;
            if (!cutune_limits_of(row, device, kernel, &limits)) return;
            const cutune_request request =
                question_of(site, limits, arguments, integers, &allocations);
            if (!choose(row, request, device, variants, &made) || !cutune_remembers)
                decision_ = nullptr;
            if (decision_ != nullptr) {
                question->write_to(&made);
                *decision_ = made;
            }
        }
        if (decision_ != nullptr && decision_->refinement != nullptr &&
            cutune_limits_of(row, device, kernel, &limits))
            refine(site, question_of(site, limits, arguments, integers, &allocations));
        if (!is_changed()) return;
        if (cudaPeekAtLastError() == cudaSuccess)
            watched_ = row;
        else
            keep();
    }

  private:
    dim3 asked_grid_, asked_block_;
    size_t asked_smem_;
    bool is_captured_;
    int watched_;  // row of the site whose launch was changed and might be refused, or -1
    cutune_timed_launch timed_;

    bool is_changed() const { return variant != 0 || !cutune_are_equal(block, asked_block_); }

    // Is this right only where pointers lead to different memory?
    bool relies_on_memory(const cutune_site &site) const {
        if (!site.asks_for_memory || !is_changed()) return false;
        if (variant != 0) return true;
        for (int d = 0; d < 3; ++d)
            if (site.rule[d] == cutune_rows) return true;
        return !cutune_keeps_warps(asked_block_, block);
    }

    // A launch that is refused has not run. Then the site keeps its own block from now on.
    bool was_refused() {
        const cudaError_t error = cudaPeekAtLastError();
        if (error == cudaSuccess && decision_ != nullptr) decision_->is_accepted = is_settled();
        if (error != cudaErrorLaunchOutOfResources && error != cudaErrorInvalidConfiguration &&
            error != cudaErrorInvalidValue)
            return false;
        cudaGetLastError();
        cutune_given_up[watched_].store(true, cutune_relaxed);
        return true;
    }

    // Will CUDA accept each such launch, as it did this one? Another kernel of the same site may
    // need more registers; shared memory may be had less of than now, but not less than the
    // program itself asks for; what is captured is not launched yet.
    bool is_settled() const {
        return decision_->refinement == nullptr && cutune_sites[watched_].is_one_kernel &&
               smem <= asked_smem_ && !cutune_is_captured(stream);
    }

    void keep() {
        variant = 0;
        grid = asked_grid_;
        block = asked_block_;
        smem = asked_smem_;
    }

    cutune_plan plan() const {
        const cutune_plan now = {grid, block, smem};
        return now;
    }

    cutune_request question_of(const cutune_site &site, cutune_limits limits,
                               const long long *arguments, unsigned long long integers,
                               cutune_memory *allocations) const {
        cutune_request request =
            cutune_make_request(site, asked_grid_, asked_block_, asked_smem_, arguments, integers,
                                limits, is_captured_, allocations);
        request.signature = signature_;
        return request;
    }

    // May it be done again, with the memory that pointers lead to now? That may have been freed, and
    // given away in other pieces.
    bool holds(const cutune_site &site, const cutune_decision &made, const long long *arguments,
               unsigned long long integers, cutune_memory *allocations) const {
        if (made.relies_on_memory) {
            const cutune_limits none = {0, 0};
            const cutune_request request = question_of(site, none, arguments, integers, allocations);
            if (!site.is_free(arguments, integers, request.extent, allocations)) return false;
        }
        return made.variant == 0 || may_run(site, made.variant, arguments, allocations);
    }

    static bool may_run(const cutune_site &site, int variant, const long long *arguments,
                        cutune_memory *allocations) {
        const cutune_variant &asked = site.variants[variant - 1];
        return asked.may_run(asked, arguments, allocations);
    }

    void remember(const cutune_site &site, cutune_decision *made) const {
        made->plan = plan();
        made->variant = variant;
        made->relies_on_memory = relies_on_memory(site);
        made->is_accepted = !is_changed() && made->refinement == nullptr;
        made->is_for_now =
            !is_captured_ &&
            (made->refinement != nullptr || variant != 0 || !may_be_captured(site));
    }

    // Would a graph be given the same? It keeps all threads, and warps where they may matter.
    bool may_be_captured(const cutune_site &site) const {
        return !is_changed() ||
               (grid.x * block.x == asked_grid_.x * asked_block_.x &&
                grid.y * block.y == asked_grid_.y * asked_block_.y &&
                grid.z * block.z == asked_grid_.z * asked_block_.z &&
                (site.is_free == nullptr || cutune_keeps_warps(asked_block_, block)));
    }

    // Is what was chosen to be remembered?
    bool choose(int row, cutune_request request, int device, const void *const *variants,
                cutune_decision *made) {
        const cutune_site &site = cutune_sites[row];
        made->refinement = nullptr;
        bool is_found = true;
        // A launch that CUDA will refuse has to be refused for the reason that the program knows.
        if (cutune_may_change(site, request)) {
            if (cutune_current_device().multiprocessors == 0) {
                is_found = false;
            } else if ((cutune_read_mode() & cutune_mode_refine) != 0) {
                dim3 chosen = block;
                is_found =
                    cutune_refinement_of(site, request, device, &made->refinement, &chosen);
                fit(site, request, chosen);
            } else {
                request.allowed = allowed(site, request, variants);
                cutune_configuration chosen = site.select(&request, nullptr);
                if (chosen.variant != 0 && !take(row, request, device, variants, chosen)) {
                    request.allowed = 0;
                    chosen = site.select(&request, nullptr);
                }
                if (variant == 0) fit(site, request, chosen.block);
            }
        }
        remember(site, made);
        return is_found;
    }

    // The program may have set attributes of the kernel, which a variant does not have; in a graph its
    // arguments may change; threads that share memory may tell one from the other.
    unsigned allowed(const cutune_site &site, const cutune_request &request,
                     const void *const *variants) const {
        unsigned found = 0;
        if (variants == nullptr || is_captured_ || asked_smem_ != 0 ||
            (site.is_free != nullptr && cutune_needs_warps(site, request)))
            return 0;
        for (int v = 1; v <= site.variant_count; ++v)
            if (variants[v - 1] != nullptr &&
                may_run(site, v, request.arguments, request.allocations))
                found |= 1u << v;
        return found;
    }

    // Launch a variant. False where its code does not take the block.
    bool take(int row, cutune_request request, int device, const void *const *variants,
              const cutune_configuration &chosen) {
        const long long threads = cutune_threads(chosen.block);
        // Those of the kernel are what the program's own launch has to keep.
        cutune_limits its;
        request.ids = cutune_sites[row].variants[chosen.variant - 1].ids;
        if (!cutune_limits_of(row, device, variants[chosen.variant - 1], &its, chosen.variant) ||
            threads > static_cast<long long>(its.threads) ||
            !fit(cutune_sites[row], request, chosen.block))
            return false;
        variant = chosen.variant;
        return true;
    }

    // The grid is computed here, by the rule that was proven, whatever the routine says.
    bool fit(const cutune_site &site, const cutune_request &request, dim3 chosen) {
        if (!cutune_fit_launch(site, request, chosen, &grid, &smem)) return false;
        block = chosen;
        return true;
    }

    void refine(const cutune_site &site, const cutune_request &request) {
        cutune_refinement *const refinement = decision_->refinement;
        const bool is_settled = refinement->is_settled.load(std::memory_order_acquire);
        const dim3 wanted = timed_.start(refinement, site.kernel, stream);
        if (!fit(site, request, wanted)) timed_.stop(stream, false);
        if (is_settled) {
            decision_->refinement = nullptr;
            remember(site, decision_);
        }
    }
};

}  // namespace

#endif  // CUTUNE_DECIDER_H
