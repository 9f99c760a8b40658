// The launch of an instrumented program. Needs the table cutune_sites before it, and cutune_call.h
// behind it.
//
//   CUTUNE_MODE=off         (or unset) each launch runs as it was written
//   CUTUNE_MODE=record      appends a line of JSON for each launch
//   CUTUNE_MODE=sweep       times every candidate block and compares its results
//   CUTUNE_MODE=profile     launches every candidate block once, for a profiler
//   CUTUNE_OUTPUT           file to which lines are appended
//   CUTUNE_CANDIDATES       file of candidates, in lines `site x y z [@variant] [source file]`
//   CUTUNE_LAUNCH_LIMIT     how many launches of each site are looked at (record: all; else 1)
//   CUTUNE_EXPERIMENTS      the program ends behind so many launches that were tried (unset: never)
//   CUTUNE_REPETITIONS      how often a candidate is timed (5)
//   CUTUNE_CACHE            what lies in the caches when a timed launch begins: `restored` memory, the
//                           same launch `repeated`, or what the `program` leaves; then each run of
//                           it makes its launches with one candidate, in their place
//   CUTUNE_STEP             the number of that candidate; 0: the program's own
//
// Every line has schema, site, kernel, file, launch (its number at the site), grid, block, shared,
// extent (guard bound or thread space per dimension) and arguments. `cutune-record-1` is just that.
// `cutune-timing-1` (sweep) and `cutune-profile-1` add original (is it the program's own block?),
// variant (where it is one of the kernel's),
// and either error or identical and difference against the original's results; timings besides
// milliseconds, median and modelled (true on the emulated device). In profile mode one more launch
// of the original follows, without a line.
//
// What the probe does with a launch is in cutune_experiment.h. It is compiled with each file, or
// found in the library of the emulated device: -DCUTUNE_PROBE_LINKED.
#ifndef CUTUNE_PROBE_H
#define CUTUNE_PROBE_H

#include "cutune_asked.h"

#ifdef CUTUNE_PROBE_LINKED
extern "C" {
bool cutune_linked_is_probing(void);
cutune_experiment *cutune_linked_begin(const cutune_asked_launch *asked, int *launches);
cutune_turn cutune_linked_next(cutune_experiment *experiment, cutune_step *now);
void cutune_linked_end(cutune_experiment *experiment);
}
inline bool cutune_is_probing() { return cutune_linked_is_probing(); }
inline cutune_experiment *cutune_begin(const cutune_asked_launch &asked, int *launches) {
    return cutune_linked_begin(&asked, launches);
}
inline cutune_turn cutune_next(cutune_experiment *experiment, cutune_step *now) {
    return cutune_linked_next(experiment, now);
}
inline void cutune_end(cutune_experiment *experiment) { cutune_linked_end(experiment); }
#else
#include "cutune_experiment.h"
#endif
#include "cutune_signature.h"

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

// Of a kernel that has a copy, the copy is measured in all blocks.
enum { cutune_prefers_own = 0 };

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
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream), variant(0),
          site_(site), signature_(cutune_signature<Arguments...>()), pending_(true),
          asked_{asked_grid, asked_block, asked_smem, 0},
          experiment_(nullptr), members_seen_(0) {
        if (cutune_emulated_member != nullptr) see_members(arguments...);
        if (!cutune_is_probing()) return;
        const long long integers[sizeof...(Arguments) + 1] = {cutune_integer(arguments)..., 0};
        const cutune_argument described[sizeof...(Arguments) + 1] = {
            cutune_describe<Arguments>::of(arguments)...,
            cutune_empty_argument(cutune_bytes_kind)};
        begin({nullptr, kernel, variants != nullptr, {grid, block, smem, 0}, stream, sizeof...(Arguments), integers,
               cutune_integer_bits<Arguments...>::value, described, signature_});
    }
    cutune_controlled(const cutune_controlled &) = delete;
    cutune_controlled &operator=(const cutune_controlled &) = delete;
    ~cutune_controlled() { end_experiment(); }

    // Sets what is to be launched now. False when all launches were made.
    bool next() {
        if (!pending_) {
            end_experiment();
            return false;
        }
        cutune_step now = asked_;
        const cutune_turn turn =
            experiment_ == nullptr ? cutune_turn_over : cutune_next(experiment_, &now);
        if (turn == cutune_turn_over) end_experiment();
        pending_ = turn == cutune_turn_candidate;
        set(now);
        return announce();
    }

  private:
    // As many as there are bits for arguments.
    enum { most_members = 64 };

    int site_;
    cutune_word signature_;
    bool pending_;  // the launch that the program asked for has not been made
    cutune_step asked_;
    cutune_experiment *experiment_;
    int members_seen_;
    cutune_member_value members_[most_members];
    int positions_[most_members];  // among the arguments

    template <class... Arguments>
    void see_members(const Arguments &...arguments) {
        int position = 0;
        const int seen[] = {(see_member(position++, arguments), 0)..., 0};
        static_cast<void>(seen);
    }
    void see_member(int position, const cutune_member_value &member) {
        if (members_seen_ == most_members) return;
        positions_[members_seen_] = position;
        members_[members_seen_++] = member;
    }
    template <class T>
    void see_member(int, const T &) {}

    void set(const cutune_step &step) {
        grid = step.grid;
        block = step.block;
        smem = step.smem;
        variant = step.variant;
    }

    bool announce() const {
        if (cutune_emulated_site != nullptr) cutune_emulated_site(site_);
        if (cutune_emulated_signature != nullptr) cutune_emulated_signature(signature_);
        for (int i = 0; i < members_seen_; ++i)
            cutune_emulated_member(positions_[i], members_[i].argument, members_[i].offset,
                                   members_[i].bytes, members_[i].is_signed);
        return true;
    }

    void end_experiment() {
        if (experiment_ != nullptr) cutune_end(experiment_);
        experiment_ = nullptr;
    }

    // How often each instance of a template was launched from a site.
    enum { most_instances = 64 };
    struct counted_instance {
        cutune_word signature;
        int launches;
    };

    int *launches_of(counted_instance *seen) const {
        int instance = 0;
        for (; instance + 1 < most_instances; ++instance) {
            cutune_word known = 0;
            if (__atomic_compare_exchange_n(&seen[instance].signature, &known, signature_, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
                known == signature_)
                break;
        }
        return &seen[instance].launches;
    }

    void begin(cutune_asked_launch asked) {
        enum { sites = sizeof cutune_sites / sizeof cutune_sites[0] };
        static counted_instance seen[sites][most_instances];
        int row = 0;
        while (row < sites && cutune_sites[row].id != site_) ++row;
        if (row == sites) return;
        asked.site = &cutune_sites[row];
        asked_ = asked.step;
        experiment_ = cutune_begin(asked, launches_of(seen[row]));
    }
};

}  // namespace

#endif  // CUTUNE_PROBE_H
