// One launch of the program turned into many: the original and every candidate block, each on the
// same contents of device memory. At the end the original runs once more, so that the program goes
// on as if nothing had happened. What lies in the caches when a timed launch begins is one of three
// things: see cutune_cache.
#ifndef CUTUNE_SWEEP_H
#define CUTUNE_SWEEP_H

#include <algorithm>
#include <string>
#include <vector>

#include "cutune_buffers.h"
#include "cutune_record.h"

inline int cutune_environment_number(const char *name, int otherwise) {
    const char *const text = getenv(name);
    const int value = text == nullptr ? 0 : atoi(text);
    return value > 0 ? value : otherwise;
}

// A launch as it was asked for, kept after its arguments are gone, and what tells it apart from
// others in the output.
struct cutune_kept_launch {
    const cutune_site *site;
    cutune_limits limits;
    bool has_variants;
    int number;  // of this site in this process, from 0
    cutune_step step;
    cudaStream_t stream;
    std::vector<long long> integers;
    unsigned long long integer_bits;
    cutune_word signature;
    std::vector<cutune_argument> arguments;
    std::vector<std::string> bytes;  // where arguments point to

    cutune_kept_launch(const cutune_asked_launch &asked, cutune_limits known, int its_number)
        : site(asked.site), limits(known), has_variants(asked.has_variants), number(its_number),
          step(asked.step), stream(asked.stream), integers(asked.integers, asked.integers + asked.count),
          integer_bits(asked.integer_bits), signature(asked.signature),
          arguments(asked.arguments, asked.arguments + asked.count), bytes(asked.count) {
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

inline std::string cutune_argument_text(const cutune_argument &argument) {
    if (argument.kind == cutune_integer_kind)
        return "{\"kind\":\"integer\",\"value\":" + std::to_string(argument.integer) + "}";
    if (argument.kind == cutune_real_kind)
        return "{\"kind\":\"real\",\"value\":" + cutune_real_text(argument.real) + "}";
    if (argument.kind == cutune_bytes_kind)
        return "{\"kind\":\"bytes\",\"hex\":\"" + cutune_hex(argument.bytes, argument.size) + "\"}";
    unsigned long long base = argument.address;
    size_t size = 0;
    if (!cutune_range(argument.address, &base, &size)) size = 0;
    return "{\"kind\":\"pointer\",\"address\":" + std::to_string(argument.address) +
           ",\"base\":" + std::to_string(base) + ",\"size\":" + std::to_string(size) + "}";
}

// The members that all kinds of lines share, without the closing brace.
inline std::string cutune_line_text(const char *schema, const cutune_kept_launch &launch,
                                    const cutune_step &step) {
    const cutune_request request = launch.request(nullptr);
    std::string text = std::string("{\"schema\":\"") + schema + "\"";
    text += ",\"site\":" + std::to_string(launch.site->id);
    text += ",\"kernel\":" + cutune_string_text(launch.site->kernel);
    text += ",\"file\":" + cutune_string_text(launch.site->file);
    text += ",\"launch\":" + std::to_string(launch.number);
    text += ",\"signature\":" + std::to_string(launch.signature);
    text += ",\"grid\":" + cutune_dim3_text(step.grid);
    text += ",\"block\":" + cutune_dim3_text(step.block);
    text += ",\"shared\":" + std::to_string(step.smem) + ",\"extent\":[";
    for (int d = 0; d < 3; ++d)
        text += (d > 0 ? "," : "") + std::to_string(request.extent[d]);
    text += "],\"arguments\":[";
    for (size_t i = 0; i < launch.arguments.size(); ++i)
        text += (i > 0 ? "," : "") + cutune_argument_text(launch.arguments[i]);
    return text + "]";
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
inline int cutune_find_variant(const cutune_site &site, const std::string &name) {
    for (int i = 0; i < site.variant_count; ++i)
        if (name == site.variants[i].name) return i + 1;
    return -1;
}

// The candidates that $CUTUNE_CANDIDATES lists for a site, in lines `site x y z [@variant] [source
// file]`.
inline std::vector<cutune_candidate> cutune_read_candidates(const cutune_site &site) {
    std::vector<cutune_candidate> candidates;
    const char *const path = getenv("CUTUNE_CANDIDATES");
    FILE *const file = path == nullptr ? nullptr : fopen(path, "r");
    if (file == nullptr) return candidates;
    char line[4096];
    while (fgets(line, sizeof line, file) != nullptr) {
        int id = 0, used = 0;
        unsigned x = 0, y = 0, z = 0;
        if (sscanf(line, "%d %u %u %u %n", &id, &x, &y, &z, &used) < 4 || id != site.id) continue;
        std::string name = line + used;
        while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
        int variant = 0;
        if (!name.empty() && name[0] == '@') {
            const size_t end = std::min(name.find(' '), name.size());
            variant = cutune_find_variant(site, name.substr(1, end - 1));
            name.erase(0, end + 1);
        }
        const cutune_candidate candidate = {dim3(x, y, z), variant};
        if (variant >= 0 && (name.empty() || name == site.file)) candidates.push_back(candidate);
    }
    fclose(file);
    return candidates;
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
    std::vector<cutune_step> steps_;  // the original first
    size_t at_;
    int run_;         // of this step; the first one warms up and is compared
    int timed_runs_;  // after the first one; more of short launches
    bool running_, over_, is_wanted_;
    bool is_led_ = false;  // the same launch, not timed, is queued before
    cudaEvent_t start_, stop_;
    double best_, difference_ = 0;
    bool identical_ = true;
    std::vector<double> milliseconds_;

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
        milliseconds_.push_back(static_cast<double>(elapsed));
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
        steps_.push_back(original);
        cutune_memory allocations;
        for (const cutune_candidate &candidate : cutune_read_candidates(*launch_.site)) {
            is_wanted_ = true;
            if (candidate.variant == 0 && cutune_are_equal(candidate.block, original.block)) continue;
            cutune_step step = {original.grid, candidate.block, original.smem, candidate.variant};
            cutune_request request = launch_.request(&allocations);
            if (step.variant != 0) request.ids = launch_.site->variants[step.variant - 1].ids;
            if (!cutune_fit_launch(*launch_.site, request, step.block, &step.grid, &step.smem))
                write(step, refusal(request));
            else if (step.variant != 0 && !may_run(step.variant, &allocations))
                write(step, "this variant is not allowed here");
            else
                steps_.push_back(step);
        }
        return true;
    }

    // Why a block is refused.
    static const char *refusal(const cutune_request &request) {
        const cutune_site &site = *request.site;
        const bool is_other = site.shared != nullptr && cutune_shared_bytes(site, request.block) !=
                                                            static_cast<long long>(request.smem);
        return is_other ? "the annotation gives the program's own block other shared memory than "
                          "the launch"
                        : "this block is not allowed here";
    }

    bool may_run(int variant, cutune_memory *allocations) const {
        return launch_.has_variants && launch_.step.smem == 0 && launch_.limits.threads != 0 &&
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
        if (run_ == 0 && at_ > 0) identical_ = buffers_.identical(&difference_);
        // A run of a short kernel may take three times as long as the next one, and costs little.
        const bool warms_up = run_ == 0 && timed_runs_ > 0;
        const double least_slow = 0.1;
        const double most = std::max(best_ * (warms_up ? 9 : 3), least_slow);
        const bool hopeless = at_ > 0 && best_ > 0 && static_cast<double>(elapsed) > most;
        if (timed_ && (run_ > 0 || timed_runs_ == 0 || hopeless))
            milliseconds_.push_back(static_cast<double>(elapsed));
        if (run_++ >= runs_of(elapsed) || hopeless) step_done(nullptr);
    }

    // Times of short launches differ by half a microsecond from run to run; more runs cost little.
    int runs_of(float milliseconds) const {
        const float brief = 0.05F;
        return milliseconds < brief ? 6 * timed_runs_ : timed_runs_;
    }

    void step_done(const char *problem) {
        write(steps_[at_], problem);
        for (const double time : milliseconds_)
            if (best_ <= 0 || time < best_) best_ = time;
        milliseconds_.clear();
        difference_ = 0;
        identical_ = true;
        run_ = 0;
        ++at_;
    }

    void write(const cutune_step &step, const char *problem) {
        const bool original = step.variant == 0 && cutune_are_equal(step.block, launch_.step.block);
        const char *const schema = timed_ ? "cutune-timing-1" : "cutune-profile-1";
        std::string text = cutune_line_text(schema, launch_, step);
        text += original ? ",\"original\":true" : ",\"original\":false";
        if (step.variant != 0)
            text += std::string(",\"variant\":") +
                    cutune_string_text(launch_.site->variants[step.variant - 1].name);
        if (timed_) {
            text += ",\"milliseconds\":[";
            for (size_t i = 0; i < milliseconds_.size(); ++i)
                text += (i > 0 ? "," : "") + cutune_real_text(milliseconds_[i]);
            text += "],\"median\":" + median_text();
            text += cutune_is_emulated() ? ",\"modelled\":true" : ",\"modelled\":false";
        }
        if (problem == nullptr)
            text += std::string(",\"identical\":") + (identical_ ? "true" : "false") +
                    ",\"difference\":" + cutune_real_text(difference_);
        else
            text += ",\"error\":" + cutune_string_text(problem);
        if (!cutune_write_line(text + "}")) over_ = true;
    }

    std::string median_text() const {
        std::vector<double> sorted = milliseconds_;
        if (sorted.empty()) return "null";
        std::sort(sorted.begin(), sorted.end());
        const size_t middle = sorted.size() / 2;
        return cutune_real_text(sorted.size() % 2 != 0
                                    ? sorted[middle]
                                    : (sorted[middle - 1] + sorted[middle]) / 2);
    }
};

#endif  // CUTUNE_SWEEP_H
