// One launch of the program turned into many: the original and every candidate block, each on the
// same contents of device memory. At the end the original runs once more, so that the program goes
// on as if nothing had happened. What lies in the caches when a timed launch begins is one of three
// things: see cutune_cache.
#ifndef CUTUNE_SWEEP_H
#define CUTUNE_SWEEP_H

#include <stdlib.h>
#include <string.h>

#include "cutune_buffers.h"
#include "cutune_record.h"

inline int cutune_environment_number(const char *name, int otherwise) {
    const char *const text = getenv(name);
    const int value = text == nullptr ? 0 : atoi(text);
    return value > 0 ? value : otherwise;
}

#include "cutune_energy.h"

// A launch as it was asked for, kept after its arguments are gone, and what tells it apart from
// others in the output.
struct cutune_kept_launch {
    const cutune_site *site;
    cutune_limits limits;
    bool has_variants;
    int number;  // of this site in this process, from 0
    cutune_step step;
    cudaStream_t stream;
    cutune_array<long long> integers;
    unsigned long long integer_bits;
    cutune_word signature;
    cutune_array<cutune_argument> arguments;
    cutune_array<cutune_array<char>> bytes;  // where arguments point to

    cutune_kept_launch(const cutune_asked_launch &asked, cutune_limits known, int its_number)
        : site(asked.site), limits(known), has_variants(asked.has_variants), number(its_number),
          step(asked.step), stream(asked.stream), integers(asked.integers, asked.count),
          integer_bits(asked.integer_bits), signature(asked.signature),
          arguments(asked.arguments, asked.count) {
        bytes.resize(asked.count);
        for (size_t i = 0; i < arguments.size(); ++i) {
            if (arguments[i].size == 0) continue;
            bytes[i].assign(arguments[i].bytes, arguments[i].size);
            arguments[i].bytes = bytes[i].data();
        }
    }
    cutune_kept_launch(const cutune_kept_launch &) = delete;
    cutune_kept_launch &operator=(const cutune_kept_launch &) = delete;

    cutune_request request(cutune_memory *allocations) const {
        return cutune_make_request(*site, step.grid, step.block, step.smem, integers.data(),
                                   integer_bits, limits, false, allocations);
    }
};

inline void cutune_add_argument(cutune_text *line, const cutune_argument &argument) {
    if (argument.kind == cutune_integer_kind) {
        line->add("{\"kind\":\"integer\",\"value\":%lld}", argument.integer);
    } else if (argument.kind == cutune_real_kind) {
        line->add("{\"kind\":\"real\",\"value\":");
        line->add_real(argument.real);
        line->add("}");
    } else if (argument.kind == cutune_bytes_kind) {
        line->add("{\"kind\":\"bytes\",\"hex\":\"");
        line->add_hex(argument.bytes, argument.size);
        line->add("\"}");
    } else {
        unsigned long long base = argument.address;
        size_t size = 0;
        if (!cutune_range(argument.address, &base, &size)) size = 0;
        line->add("{\"kind\":\"pointer\",\"address\":%llu,\"base\":%llu,\"size\":%zu}",
                  argument.address, base, size);
    }
}

inline void cutune_add_dim3(cutune_text *line, const char *name, dim3 value) {
    line->add(",\"%s\":[%u,%u,%u]", name, value.x, value.y, value.z);
}

// The members that all kinds of lines share, without the closing brace.
inline void cutune_add_launch(cutune_text *line, const char *schema,
                              const cutune_kept_launch &launch, const cutune_step &step) {
    const cutune_request request = launch.request(nullptr);
    line->add("{\"schema\":\"%s\",\"site\":%d,\"kernel\":", schema, launch.site->id);
    line->add_string(launch.site->kernel);
    line->add(",\"file\":");
    line->add_string(launch.site->file);
    line->add(",\"launch\":%d,\"signature\":%llu", launch.number, launch.signature);
    cutune_add_dim3(line, "grid", step.grid);
    cutune_add_dim3(line, "block", step.block);
    line->add(",\"shared\":%zu,\"extent\":[%lld,%lld,%lld],\"arguments\":[", step.smem,
              request.extent[0], request.extent[1], request.extent[2]);
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
        if (i > 0) line->add(",");
        cutune_add_argument(line, launch.arguments[i]);
    }
    line->add("]");
}

// What lies in the caches when a timed launch begins.
enum cutune_cache {
    cutune_cache_restored,  // memory was put back before: a part of it, written last
    cutune_cache_repeated,  // what the launch before left, which was the same one
    cutune_cache_program    // what the program left: the launch is made once, in its place
};

inline cutune_cache cutune_read_cache() {
    const char *const text = getenv("CUTUNE_CACHE");
    if (text != nullptr && strcmp(text, "repeated") == 0) return cutune_cache_repeated;
    if (text != nullptr && strcmp(text, "program") == 0) return cutune_cache_program;
    return cutune_cache_restored;
}

struct cutune_candidate {
    dim3 block;
    int variant;  // or 0: the kernel itself
};

// The number of a variant, or -1.
inline int cutune_find_variant(const cutune_site &site, const char *name) {
    for (int i = 0; i < site.variant_count; ++i)
        if (strcmp(name, site.variants[i].name) == 0) return i + 1;
    return -1;
}

// The candidates that $CUTUNE_CANDIDATES lists for a site, in lines `site x y z [@variant] [source
// file]`; `0 0 0`: the block of the launch.
inline void cutune_read_candidates(const cutune_site &site,
                                   cutune_array<cutune_candidate> *candidates) {
    const char *const path = getenv("CUTUNE_CANDIDATES");
    void *const file = path == nullptr ? nullptr : cutune_open(path, "r");
    if (file == nullptr) return;
    char line[4096];
    while (cutune_gets(line, sizeof line, file) != nullptr) {
        int id = 0, used = 0;
        unsigned x = 0, y = 0, z = 0;
        if (cutune_scan(line, "%d %u %u %u %n", &id, &x, &y, &z, &used) < 4 || id != site.id)
            continue;
        char *name = line + used;
        size_t length = strlen(name);
        while (length > 0 && (name[length - 1] == '\n' || name[length - 1] == '\r')) --length;
        name[length] = 0;
        int variant = 0;
        if (name[0] == '@') {
            char *const variant_name = name + 1;
            name += strcspn(name, " ");
            if (*name == ' ') *name++ = 0;
            variant = cutune_find_variant(site, variant_name);
        }
        const cutune_candidate candidate = {dim3(x, y, z), variant};
        if (variant >= 0 && (name[0] == 0 || strcmp(name, site.file) == 0))
            candidates->more() = candidate;
    }
    cutune_close(file);
}

class cutune_experiment {
  public:
    cutune_experiment(const cutune_asked_launch &asked, cutune_limits limits, int number,
                      bool timed)
        : launch_(asked, limits, number), timed_(timed),
          cache_(timed ? cutune_read_cache() : cutune_cache_restored), at_(0), run_(0),
          running_(false), over_(false), is_wanted_(false), start_(nullptr), stop_(nullptr), best_(0) {
        timed_runs_ = cutune_is_emulated() || !timed
                          ? 0
                          : cutune_environment_number("CUTUNE_REPETITIONS", 5);
        if (!prepare()) over_ = true;
    }
    cutune_experiment(const cutune_experiment &) = delete;
    cutune_experiment &operator=(const cutune_experiment &) = delete;
    ~cutune_experiment() {
        if (start_ != nullptr) cutune_refused(cudaEventDestroy(start_));
        if (stop_ != nullptr) cutune_refused(cudaEventDestroy(stop_));
    }

    // Was it asked for: is there a candidate of this site?
    bool is_wanted() const { return is_wanted_; }

    // Ends the launch that is running and says what to launch next.
    cutune_turn next(cutune_step *now) {
        if (cache_ == cutune_cache_program) return next_in_place(now);
        if (running_) finish();
        running_ = false;
        if (meter_.is_on() && next_metered(now)) return cutune_turn_candidate;
        if (over_ || at_ == steps_.size()) {
            buffers_.restore();
            cutune_refused(cudaStreamSynchronize(launch_.stream));
            return cutune_turn_over;
        }
        const bool is_kept = cache_ == cutune_cache_repeated && run_ > 0 && !cutune_is_emulated();
        if (!is_kept && !buffers_.restore()) {
            over_ = true;
            return next(now);
        }
        *now = steps_[at_];
        // Without something before it the time holds what the host takes to launch.
        is_led_ = is_kept && !is_led_;
        if (is_led_) return cutune_turn_candidate;
        if (timed_) cutune_refused(cudaEventRecord(start_, launch_.stream));
        running_ = true;
        return cutune_turn_candidate;
    }

    // Behind the last launch.
    void end() {
        if (running_ && cache_ == cutune_cache_program) finish_in_place();
        running_ = false;
    }

  private:
    const cutune_kept_launch launch_;
    const bool timed_;
    const cutune_cache cache_;
    cutune_buffers buffers_;
    cutune_array<cutune_step> steps_;  // the original first
    size_t at_;
    int run_;         // of this step; the first one warms up and is compared
    int timed_runs_;  // after the first one; more of short launches
    bool running_, over_, is_wanted_;
    bool is_led_ = false;  // the same launch, not timed, is queued before
    cudaEvent_t start_, stop_;
    double best_, difference_ = 0;
    bool identical_ = true;
    cutune_difference place_;  // where it differs
    cutune_array<double> milliseconds_;
    cutune_energy energy_;  // is asked for where the same launch is repeated
    cutune_meter meter_;
    double millijoules_ = 0;  // of a launch; 0: not known

    // The one step of this run, $CUTUNE_STEP, in place of the program's own; there may be none.
    cutune_turn next_in_place(cutune_step *now) {
        const size_t step = static_cast<size_t>(cutune_environment_number("CUTUNE_STEP", 0));
        if (over_ || step >= steps_.size()) return cutune_turn_over;
        at_ = step;
        *now = steps_[step];
        cutune_refused(cudaEventRecord(start_, launch_.stream));
        running_ = true;
        return cutune_turn_in_place;
    }

    // An error is the program's own, which has to find it.
    void finish_in_place() {
        float elapsed = 0;
        if (cudaPeekAtLastError() != cudaSuccess ||
            cudaEventRecord(stop_, launch_.stream) != cudaSuccess ||
            cudaStreamSynchronize(launch_.stream) != cudaSuccess ||
            cutune_refused(cudaEventElapsedTime(&elapsed, start_, stop_)))
            return;
        milliseconds_.more() = static_cast<double>(elapsed);
        write(steps_[at_], nullptr);
    }

    bool prepare() {
        const char *problem = nullptr;
        if (cache_ != cutune_cache_program) {
            // Other streams may still be writing to what is saved now.
            if (cudaDeviceSynchronize() != cudaSuccess) return false;
            problem = buffers_.save(launch_.arguments, launch_.stream);
        }
        if (problem == nullptr && timed_ &&
            (cutune_refused(cudaEventCreate(&start_)) || cutune_refused(cudaEventCreate(&stop_))))
            problem = "no events";
        const cutune_step original = launch_.step;
        if (problem != nullptr) {
            write(original, problem);
            return false;
        }
        steps_.more() = original;
        cutune_memory allocations;
        cutune_array<cutune_candidate> candidates;
        cutune_read_candidates(*launch_.site, &candidates);
        for (const cutune_candidate &candidate : candidates) {
            is_wanted_ = true;
            const dim3 block = candidate.block.x == 0 ? original.block : candidate.block;
            if (candidate.variant == 0 && cutune_same(block, original.block)) continue;
            cutune_step step = {original.grid, block, original.smem, candidate.variant};
            cutune_request request = launch_.request(&allocations);
            if (step.variant != 0) request.ids = launch_.site->variants[step.variant - 1].ids;
#ifdef CUTUNE_TILES
            if (step.variant != 0 && launch_.site->variants[step.variant - 1].tile != nullptr) {
                step.smem = launch_.site->variants[step.variant - 1].shared;
                if (launch_.site->variants[step.variant - 1].tile(request, &step.grid) &&
                    may_run(step.variant, &allocations))
                    steps_.more() = step;
                else
                    write(step, "this variant is not allowed here");
                continue;
            }
#endif
            if (!cutune_fit_launch(*launch_.site, request, step.block, &step.grid, &step.smem))
                write(step, refusal(request));
            else if (step.variant != 0 && !may_run(step.variant, &allocations))
                write(step, "this variant is not allowed here");
            else
                steps_.more() = step;
            if (step.variant == 0 && timed_ && cutune_is_emulated()) add_other_threads(request, step);
        }
        return true;
    }

    // Where any number of threads does the same: a thread for each that has work.
    void add_other_threads(const cutune_request &request, cutune_step step) {
        for (int d = 0; d < 3; ++d) {
            const long long working = cutune_working_threads(request, d);
            if (working != 0 && cutune_fit_launch(*launch_.site,
                                                  cutune_with_threads(request, d, working),
                                                  step.block, &step.grid, &step.smem))
                steps_.more() = step;
        }
    }

    bool has_other_threads(const cutune_step &step) const {
        for (int d = 0; d < 3; ++d)
            if (launch_.site->rule[d] == cutune_divide &&
                cutune_along(d, step.grid) * cutune_along(d, step.block) !=
                    cutune_along(d, launch_.step.grid) * cutune_along(d, launch_.step.block))
                return true;
        return false;
    }

    // Why a block is refused.
    static const char *refusal(const cutune_request &request) {
        const cutune_site &site = *request.site;
        const dim3 own = request.block;
        const bool is_other =
            site.shared != nullptr &&
            site.shared(own.x, own.y, own.z) != static_cast<long long>(request.smem);
        return is_other ? "the annotation gives the program's own block other shared memory than "
                          "the launch"
                        : "this block is not allowed here";
    }

    bool may_run(int variant, cutune_memory *allocations) const {
        bool has_memory = launch_.step.smem == 0;
#ifdef CUTUNE_TILES
        has_memory |= launch_.site->variants[variant - 1].tile != nullptr;
#endif
        return launch_.has_variants && launch_.limits.threads != 0 && has_memory &&
               cutune_supposes_rightly(launch_.site->variants[variant - 1], launch_.integers.data(),
                                       allocations);
    }

    void finish() {
        cudaError_t error = cudaGetLastError();
        if (error == cudaSuccess && timed_) error = cudaEventRecord(stop_, launch_.stream);
        if (error == cudaSuccess) error = cudaStreamSynchronize(launch_.stream);
        if (error != cudaSuccess) {
            const cudaError_t lasting = cudaDeviceSynchronize();
            cutune_refused(error);
            step_done(cudaGetErrorString(error));
            // A broken context or a failing original ends it: nothing more can be learnt.
            if (lasting != cudaSuccess || at_ == 1) over_ = true;
            return;
        }
        float elapsed = 0;
        if (timed_ && cutune_refused(cudaEventElapsedTime(&elapsed, start_, stop_))) elapsed = 0;
        if (run_ == 0 && at_ == 0) buffers_.expect();
        if (run_ == 0 && at_ > 0) identical_ = buffers_.identical(&difference_, &place_);
        // A run of a short kernel may take three times as long as the next one, and costs little.
        const bool warms_up = run_ == 0 && timed_runs_ > 0;
        const double least_slow = 0.1;
        const double slow = best_ * (warms_up ? 9 : 3);
        const double most = slow < least_slow ? least_slow : slow;
        const bool hopeless = at_ > 0 && best_ > 0 && static_cast<double>(elapsed) > most;
        if (timed_ && (run_ > 0 || timed_runs_ == 0 || hopeless))
            milliseconds_.more() = static_cast<double>(elapsed);
        if (run_++ < runs_of(elapsed) && !hopeless) return;
        if (hopeless || cache_ != cutune_cache_repeated || !energy_.is_told())
            step_done(nullptr);
        else
            meter_.start(energy_, static_cast<double>(elapsed));
    }

    // The step once more, whose energy is measured; false: that is over.
    bool next_metered(cutune_step *now) {
        if (!meter_.has_more()) {
            cudaError_t error = cudaGetLastError();
            if (error == cudaSuccess) error = cudaStreamSynchronize(launch_.stream);
            const double read = error == cudaSuccess ? meter_.read(energy_) : -1;
            if (error != cudaSuccess) {
                cutune_refused(error);
                over_ = cudaDeviceSynchronize() != cudaSuccess;
            }
            if (read != 0) {
                millijoules_ = read > 0 ? read : 0;
                meter_.stop();
                step_done(error == cudaSuccess ? nullptr : cudaGetErrorString(error));
                return false;
            }
            meter_.has_more();
        }
        *now = steps_[at_];
        return true;
    }

    // Times of short launches differ by half a microsecond from run to run; more runs cost little.
    int runs_of(float milliseconds) const {
        const float brief = 0.05F;
        return milliseconds < brief ? 6 * timed_runs_ : timed_runs_;
    }

    void step_done(const char *problem) {
        // Other numbers of threads are told only where the results are others.
        if (problem != nullptr || !identical_ || !has_other_threads(steps_[at_]))
            write(steps_[at_], problem);
        for (const double time : milliseconds_)
            if (best_ <= 0 || time < best_) best_ = time;
        milliseconds_.resize(0);
        millijoules_ = 0;
        difference_ = 0;
        identical_ = true;
        run_ = 0;
        ++at_;
    }

    void write(const cutune_step &step, const char *problem) {
        const bool original = step.variant == 0 && cutune_same(step.block, launch_.step.block);
        const char *const schema = timed_ ? "cutune-timing-1" : "cutune-profile-1";
        cutune_text line;
        cutune_add_launch(&line, schema, launch_, step);
        line.add(",\"original\":%s", truth(original));
        if (step.variant != 0) {
            line.add(",\"variant\":");
            line.add_string(launch_.site->variants[step.variant - 1].name);
        }
        if (timed_) add_times(&line);
        if (problem == nullptr) {
            line.add(",\"identical\":%s,\"difference\":", truth(identical_));
            line.add_real(difference_);
            if (!identical_ && place_.size > 0) add_place(&line);
        } else {
            line.add(",\"error\":");
            line.add_string(problem);
        }
        if (!cutune_write_line(&line)) over_ = true;
    }

    void add_place(cutune_text *line) const {
        line->add(",\"place\":{\"base\":%llu,\"at\":%zu,\"expected\":\"", place_.base, place_.at);
        line->add_hex(place_.expected, place_.size);
        line->add("\",\"found\":\"");
        line->add_hex(place_.found, place_.size);
        line->add("\"}");
    }

    static const char *truth(bool value) { return value ? "true" : "false"; }

    void add_times(cutune_text *line) const {
        line->add(",\"milliseconds\":[");
        for (size_t i = 0; i < milliseconds_.size(); ++i) {
            if (i > 0) line->add(",");
            line->add_real(milliseconds_[i]);
        }
        line->add("],\"median\":");
        if (milliseconds_.size() == 0)
            line->add("null");
        else
            line->add_real(median());
        line->add(",\"modelled\":%s", truth(cutune_is_emulated()));
        if (millijoules_ > 0) {
            line->add(",\"millijoules\":");
            line->add_real(millijoules_);
        }
    }

    double median() const {
        cutune_array<double> sorted(milliseconds_.data(), milliseconds_.size());
        cutune_sort(&sorted);
        const size_t middle = sorted.size() / 2;
        return sorted.size() % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
};

#endif  // CUTUNE_SWEEP_H
