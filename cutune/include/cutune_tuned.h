// The launch of a tuned program: asks the site's selection routine, and launches once. What was
// decided is remembered per thread, so that a launch of a known size costs a comparison.
// Needs cutune_question.h and cutune_decider.h before it, and cutune_call.h behind it.
#ifndef CUTUNE_TUNED_H
#define CUTUNE_TUNED_H

namespace {

// A kernel that has a copy is launched itself where its block stays.
enum { cutune_prefers_own = 1 };

class cutune_controlled : public cutune_decider {
  public:
    // `kernel` is its address, or nullptr where that is not known; `variants` are those of its
    // variants, or nullptr.
    template <class... Arguments>
    cutune_controlled(int site, const void *kernel, const void *const *variants, dim3 asked_grid,
                      dim3 asked_block, size_t asked_smem, cudaStream_t asked_stream,
                      const Arguments &...arguments)
        : cutune_decider(asked_grid, asked_block, asked_smem, asked_stream,
                         cutune_signature<Arguments...>::value),
          is_pending_(true) {
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
        return is_watched() && ends_refused();
    }

  private:
    bool is_pending_;

    void decide(int id, const void *kernel, const void *const *variants,
                const long long *arguments, unsigned long long integers) {
        if ((cutune_read_mode() & cutune_mode_off) != 0) return;
        const int row = cutune_row(id), device = cutune_current_ordinal();
        if (row < 0 || device < 0 || cutune_given_up[row].load(cutune_relaxed)) return;
        cutune_question question(row, device, kernel, signature_, grid, block, smem, arguments,
                                 integers);
        bool is_known = false;
        decision_ = question.find(&is_known);
        if (is_known && is_final())
            set(decision_->plan);
        else
            settle(&question, is_known, row, device, kernel, variants, arguments, integers);
    }

    // Need nothing be looked at again?
    bool is_final() const {
        return decision_->is_accepted && decision_->variant == 0 && !decision_->relies_on_memory &&
               (!decision_->is_for_now || cutune_is_legacy(stream));
    }
};

}  // namespace

#endif  // CUTUNE_TUNED_H
