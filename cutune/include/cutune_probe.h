// The launch of an instrumented program. Needs the table cutune_sites before it, and cutune_call.h
// behind it.
//
//   CUTUNE_MODE=off         (or unset) each launch runs as it was written
//   CUTUNE_MODE=record      appends a line of JSON for each launch
//   CUTUNE_MODE=sweep       times every candidate block and compares its results
//   CUTUNE_MODE=profile     launches every candidate block once, for a profiler
//   CUTUNE_OUTPUT           file to which lines are appended
//   CUTUNE_CANDIDATES       file of candidate blocks, in lines `site x y z [source file]`
//   CUTUNE_LAUNCH_LIMIT     how many launches of each site are looked at (record: all; else 1)
//   CUTUNE_REPETITIONS      how often a candidate is timed (5)
//
// Every line has schema, site, kernel, file, launch (its number at the site), grid, block, shared,
// extent (guard bound or thread space per dimension) and arguments. `cutune-record-1` is just that.
// `cutune-timing-1` (sweep) and `cutune-profile-1` add original (is it the program's own block?)
// and either error or identical and difference against the original's results; timings besides
// milliseconds, median and modelled (true on the emulated device). In profile mode one more launch
// of the original follows, without a line.
#ifndef CUTUNE_PROBE_H
#define CUTUNE_PROBE_H

#include <atomic>
#include <utility>

#include "cutune_range.h"
#include "cutune_sweep.h"

inline cutune_probe_mode cutune_read_probe_mode() {
    const char *const text = getenv("CUTUNE_MODE");
    if (text == nullptr || strcmp(text, "off") == 0) return cutune_probe_off;
    if (strcmp(text, "record") == 0) return cutune_probe_record;
    if (strcmp(text, "sweep") == 0) return cutune_probe_sweep;
    if (strcmp(text, "profile") == 0) return cutune_probe_profile;
    fprintf(stderr, "cutune: CUTUNE_MODE='%s' is not off, record, sweep or profile\n", text);
    return cutune_probe_off;
}

inline cutune_probe_mode cutune_current_probe_mode() {
    static const cutune_probe_mode mode = cutune_read_probe_mode();
    return mode;
}

// One experiment at a time: what another thread launches meanwhile runs as it was written.
inline std::atomic<bool> &cutune_experiment_running() {
    static std::atomic<bool> running(false);
    return running;
}

// Nothing may be asked of the device while a stream is capturing, and nothing is asked while an
// error is pending: the program has to find it.
inline bool cutune_may_interfere(cudaStream_t stream) {
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !cutune_refused(cudaStreamIsCapturing(stream, &status)) &&
           status == cudaStreamCaptureStatusNone;
}

// Everything has internal linkage, because cutune_sites has: each file knows its own launches.
namespace {

// Of a kernel that has a copy, the copy is measured in all blocks.
enum { cutune_prefers_own = 0 };

class cutune_controlled {
  public:
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;

    // `kernel` is its address, or nullptr where that is not known.
    template <class... Arguments>
    cutune_controlled(int site, const void *kernel, dim3 asked_grid, dim3 asked_block,
                      size_t asked_smem, cudaStream_t asked_stream, const Arguments &...arguments)
        : grid(asked_grid), block(asked_block), smem(asked_smem), stream(asked_stream), site_(site),
          pending_(true) {
        if (cutune_emulated_member != nullptr) see_members(arguments...);
        if (cutune_current_probe_mode() == cutune_probe_off) return;
        const long long integers[sizeof...(Arguments) + 1] = {cutune_integer(arguments)..., 0};
        const cutune_asked_launch asked = {
            nullptr, kernel, {0, 0}, 0, grid, block, smem, stream,
            std::vector<long long>(integers, integers + sizeof...(Arguments) + 1),
            cutune_integer_bits<Arguments...>::value,
            std::vector<cutune_argument>{cutune_describe<Arguments>::of(arguments)...}};
        begin(asked);
    }
    cutune_controlled(const cutune_controlled &) = delete;
    cutune_controlled &operator=(const cutune_controlled &) = delete;
    ~cutune_controlled() { end_experiment(); }

    // Sets what is to be launched now. False when all launches were made.
    bool next() {
        if (experiment_ != nullptr) {
            cutune_step now = asked_;
            if (experiment_->next(&now)) {
                set(now);
                return announce();
            }
            end_experiment();
            set(asked_);
        }
        if (!pending_) return false;
        pending_ = false;
        return announce();
    }

  private:
    int site_;
    bool pending_;  // the launch that the program asked for has not been made
    cutune_step asked_;
    std::unique_ptr<cutune_experiment> experiment_;
    std::vector<std::pair<int, cutune_member_value>> members_;  // by position

    template <class... Arguments>
    void see_members(const Arguments &...arguments) {
        int position = 0;
        const int seen[] = {(see_member(position++, arguments), 0)..., 0};
        static_cast<void>(seen);
    }
    void see_member(int position, const cutune_member_value &member) {
        members_.push_back(std::make_pair(position, member));
    }
    template <class T>
    void see_member(int, const T &) {}

    void set(const cutune_step &step) {
        grid = step.grid;
        block = step.block;
        smem = step.smem;
    }

    bool announce() const {
        if (cutune_emulated_site != nullptr) cutune_emulated_site(site_);
        for (const auto &seen : members_)
            cutune_emulated_member(seen.first, seen.second.argument, seen.second.offset,
                                   seen.second.bytes, seen.second.is_signed);
        return true;
    }

    void end_experiment() {
        if (experiment_ == nullptr) return;
        experiment_.reset();
        cutune_experiment_running() = false;
    }

    void begin(cutune_asked_launch asked) {
        enum { sites = sizeof cutune_sites / sizeof cutune_sites[0] };
        static std::atomic<int> launches[sites];
        size_t row = 0;
        while (row < sites && cutune_sites[row].id != site_) ++row;
        if (row == sites || !cutune_may_interfere(stream)) return;
        const cutune_probe_mode mode = cutune_current_probe_mode();
        static const int limit = cutune_environment_number(
            "CUTUNE_LAUNCH_LIMIT", mode == cutune_probe_record ? 2147483647 : 1);
        asked.site = &cutune_sites[row];
        asked.number = launches[row].fetch_add(1);
        if (asked.number >= limit) return;
        if (!cutune_ask_kernel(*asked.site, asked.kernel, &asked.limits)) return;
        if (mode == cutune_probe_record) {
            const cutune_step step = {grid, block, smem};
            cutune_write_line(cutune_line_text("cutune-record-1", asked, step) + "}");
        } else if (!cutune_experiment_running().exchange(true)) {
            asked_.grid = grid;
            asked_.block = block;
            asked_.smem = smem;
            experiment_.reset(new cutune_experiment(asked, mode == cutune_probe_sweep));
        }
    }
};

}  // namespace

#endif  // CUTUNE_PROBE_H
