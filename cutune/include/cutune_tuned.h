// The launch of a tuned program: asks the site's selection routine, and launches once. What was
// decided is remembered per thread, so that a launch of a known size costs a comparison.
// Needs cutune_host.h, cutune_launch.h, cutune_choice.h, cutune_refine.h, the table cutune_sites and
// `cutune_remembers` before it, and cutune_call.h behind it.
#ifndef CUTUNE_TUNED_H
#define CUTUNE_TUNED_H

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

enum { cutune_site_count = sizeof cutune_sites / sizeof cutune_sites[0] };
enum { cutune_most_asked = 16, cutune_ways = 4 };
// As many sets of decisions as sites, or more, a power of two: launches that take turns stay known.
enum {
    cutune_sets = cutune_site_count > 64   ? 128
                  : cutune_site_count > 32 ? 64
                  : cutune_site_count > 16 ? 32
                                           : 16
};

// Sites whose chosen block was refused by CUDA.
cutune_atomic<bool> cutune_given_up[cutune_site_count];

// The row of a site: rows are in the order of the ids, a few of which may be missing.
inline int cutune_row(int id) {
    int row = id - cutune_sites[0].id;
    if (row >= cutune_site_count) row = cutune_site_count - 1;
    while (row >= 0 && cutune_sites[row].id > id) --row;
    return row >= 0 && cutune_sites[row].id == id ? row : -1;
}

// How a launch is made, and all that this depends on. Nothing in it has a constructor, which each
// use would have to look after.
struct cutune_decision {
    unsigned long long asked[cutune_most_asked];
    uint3 grid, block;
    size_t smem;
    int variant;  // of the kernel, or 0
    // Where the stream is capturing it may have to be another one.
    bool is_for_now;
    // It holds only while pointers lead to different memory.
    bool relies_on_memory;
    // CUDA has launched it, or it is what the program asked for: no error need be looked for.
    bool is_accepted;
    cutune_refined *refinement;  // that decides until it is settled, or nullptr
};

thread_local cutune_decision cutune_decisions[cutune_sets][cutune_ways];
thread_local unsigned cutune_replaced;
// Of each site the one that it found last, or nullptr: where sizes repeat nothing is looked up.
thread_local cutune_decision *cutune_latest[cutune_site_count];

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
        known = {kernel, device, *limits};
    }
    *limits = known.limits;
    return true;
}

// The default stream of a program cannot be captured, but that of a thread can.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline bool cutune_is_legacy(cudaStream_t stream) { return stream == cudaStreamLegacy; }
#else
inline bool cutune_is_legacy(cudaStream_t stream) { return stream == nullptr; }
#endif

inline bool cutune_is_captured(cudaStream_t stream) {
    return !cutune_is_legacy(stream) && cutune_captures(stream);
}

// What a launch asks for, as far as its decision depends on it.
class cutune_question {
  public:
    cutune_question(int row, int device, const void *kernel, cutune_word signature, dim3 grid,
                    dim3 block, size_t smem, const long long *arguments,
                    unsigned long long integers)
        : row_(row), count_(7) {
        // Neither is negative; so the first word is never 0, which says that nothing is decided.
        asked_[0] = two(static_cast<unsigned>(device), static_cast<unsigned>(row) + 1);
        // Where the kernel is not known, the types of its arguments tell instances apart.
        asked_[1] = kernel == nullptr ? signature : reinterpret_cast<size_t>(kernel);
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
        cutune_decision *&latest = cutune_latest[row_];
        *is_known = latest != nullptr && is_answered_by(*latest);
        if (!*is_known) latest = &looked_up(is_known);
        return latest;
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
    int row_, count_;
    bool is_whole_;
    unsigned long long asked_[cutune_most_asked];

    // Among all decisions: its own, or the one that makes room for it.
    cutune_decision &looked_up(bool *is_known) const {
        unsigned long long hash = 0;
        for (int i = 0; i < count_; ++i) hash = hash * 5 + asked_[i];
        // Grids and blocks lie in both halves of a word.
        hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull >> 32;
        cutune_decision(&set)[cutune_ways] = cutune_decisions[hash % cutune_sets];
        for (cutune_decision &way : set) {
            *is_known = is_answered_by(way);
            if (*is_known || way.asked[0] == 0) return way;
        }
        return set[cutune_replaced++ % cutune_ways];
    }

    static unsigned long long two(unsigned high, unsigned low) {
        return static_cast<unsigned long long>(high) << 32 | low;
    }
};

// A kernel that has a copy is launched itself where its block stays.
enum { cutune_prefers_own = 1 };

class cutune_controlled {
  public:
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;
    int variant;  // of the kernel, or 0: itself

    // `kernel` is its address, or nullptr where that is not known; `variants` are those of its
    // variants, or nullptr.
    template <class... Arguments>
    cutune_controlled(int site, const void *kernel, const void *const *variants, dim3 asked_grid,
                      dim3 asked_block, size_t asked_smem, cudaStream_t asked_stream,
                      const Arguments &...arguments)
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream),
          asked_grid_(asked_grid), asked_block_(asked_block), asked_smem_(asked_smem),
          signature_(cutune_signature<Arguments...>()), is_pending_(true), is_captured_(false),
          watched_(-1), decision_(nullptr) {
        variant = 0;
        const long long integers[sizeof...(Arguments) + 1] = {cutune_integer(arguments)..., 0};
        decide(site, kernel, variants, integers, cutune_integer_bits<Arguments...>::value);
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
    cutune_word signature_;
    bool is_pending_, is_captured_;
    int watched_;  // row of the site whose launch was changed and might be refused, or -1
    cutune_decision *decision_;  // by which it was changed, if that is remembered
    cutune_timed_launch timed_;

    bool is_changed() const {
        return variant != 0 || !cutune_same(block, asked_block_) ||
               !cutune_same(grid, asked_grid_);
    }

    // Is this right only where pointers lead to different memory?
    bool relies_on_memory(const cutune_site &site) const {
        if (!site.asks_for_memory || !is_changed()) return false;
        if (variant != 0) return true;
        for (int d = 0; d < 3; ++d)
            if (site.rule[d] == cutune_rows || (site.try_threads != nullptr && !keeps_threads(d)))
                return true;
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
        cutune_given_up[watched_].set(true);
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

    void decide(int id, const void *kernel, const void *const *variants,
                const long long *arguments, unsigned long long integers) {
        if ((cutune_read_mode() & cutune_mode_off) != 0) return;
        const int row = cutune_row(id), device = cutune_current_ordinal();
        if (row < 0 || device < 0 || cutune_given_up[row].get()) return;
        cutune_question question(row, device, kernel, signature_, grid, block, smem, arguments,
                                 integers);
        bool is_known = false;
        decision_ = question.find(&is_known);
        if (!is_known || (decision_->is_for_now && !cutune_is_legacy(stream))) {
            // With an error pending nobody could tell whose the next one is.
            if (cudaPeekAtLastError() != cudaSuccess) return;
            is_captured_ = cutune_is_captured(stream);
            if (is_captured_) {
                question.capture();
                decision_ = question.find(&is_known);
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
            grid = decision_->grid;
            block = decision_->block;
            smem = decision_->smem;
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
                question.write_to(&made);
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
        made->grid = grid;
        made->block = block;
        made->smem = smem;
        made->variant = variant;
        made->relies_on_memory = relies_on_memory(site);
        made->is_accepted = !is_changed() && made->refinement == nullptr;
        made->is_for_now =
            !is_captured_ &&
            (made->refinement != nullptr || variant != 0 || !may_be_captured(site));
    }

    // Are as many threads launched in a dimension as the program asked for?
    bool keeps_threads(int d) const {
        return cutune_along(d, grid) * cutune_along(d, block) ==
               cutune_along(d, asked_grid_) * cutune_along(d, asked_block_);
    }

    // Would a graph be given the same? It keeps all threads, and warps where they may matter.
    bool may_be_captured(const cutune_site &site) const {
        return !is_changed() ||
               (keeps_threads(0) && keeps_threads(1) && keeps_threads(2) &&
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
                cutune_chosen chosen = site.select(&request, nullptr);
                if (site.try_threads != nullptr) site.try_threads(&request, &chosen);
                if (chosen.variant != 0 && !take(row, request, device, variants, chosen)) {
                    request.allowed = 0;
                    chosen = site.select(&request, nullptr);
                }
                if (variant == 0) {
                    fit(site, request, chosen.block);
                    leave_idle(site, request);
                }
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
        if (variants == nullptr || is_captured_ ||
#ifndef CUTUNE_TILES
            asked_smem_ != 0 ||
#endif
            (!site.needs_warps && cutune_needs_warps(site, request)))
            return 0;
        for (int v = 1; v <= site.variant_count; ++v)
            if (variants[v - 1] != nullptr &&
#ifdef CUTUNE_TILES
                cutune_is_tiled(site.variants[v - 1], request) &&
#endif
                may_run(site, v, request.arguments, request.allocations))
                found |= 1u << v;
        return found;
    }

    // Launch a variant. False where its code does not take the block.
    bool take(int row, cutune_request request, int device, const void *const *variants,
              const cutune_chosen &chosen) {
#ifdef CUTUNE_TILES
        if (cutune_sites[row].variants[chosen.variant - 1].tile != nullptr)
            return take_tile(row, request, device, variants, chosen.variant);
#endif
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

#ifdef CUTUNE_TILES
    // Launch a copy with another constant, in its one block. False where its code does not take that.
    bool take_tile(int row, const cutune_request &request, int device, const void *const *variants,
                   int number) {
        const cutune_variant &copy = cutune_sites[row].variants[number - 1];
        cutune_limits its;
        if (!cutune_limits_of(row, device, variants[number - 1], &its, number) ||
            cutune_threads(cutune_block_of(copy)) > static_cast<long long>(its.threads) ||
            !copy.tile(request, &grid))
            return false;
        block = cutune_block_of(copy);
        smem = copy.shared;
        variant = number;
        return true;
    }
#endif

    // The grid is computed here, by the rule that was proven, whatever the routine says.
    bool fit(const cutune_site &site, const cutune_request &request, dim3 chosen) {
        if (!cutune_fit_launch(site, request, chosen, &grid, &smem)) return false;
        block = chosen;
        return true;
    }

    // Where most blocks have nothing to do they are left out, of the program's own block, too: so
    // it is priced.
    void leave_idle(const cutune_site &site, cutune_request request) {
        dim3 busy;
        request.guarded |= 8;
        if (cutune_fit_launch(site, request, block, &busy, &smem) &&
            cutune_threads(grid) > 2 * cutune_threads(busy) + 2048)
            grid = busy;
    }

    void refine(const cutune_site &site, const cutune_request &request) {
        cutune_refined *const refinement = decision_->refinement;
        const bool is_settled = refinement->is_settled.get();
        const dim3 wanted = timed_.start(refinement, site.kernel, stream);
        if (!fit(site, request, wanted)) timed_.stop(stream, false);
        if (is_settled) {
            decision_->refinement = nullptr;
            remember(site, decision_);
        }
    }
};

}  // namespace

#endif  // CUTUNE_TUNED_H
