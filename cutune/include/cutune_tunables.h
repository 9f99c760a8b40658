// Host integers of an instrumented program: their values are set from outside, regions are timed.
//
//   CUTUNE_SET              values in place of the program's own: `m=64,R=2`
//   CUTUNE_OUTPUT           file to which a line of JSON is appended for each region
//
// A line (`cutune-region-1`) has region, device, milliseconds (null on the emulated device, which
// has no time) and tunables: the last value of each, the program's own, and its data. `ambiguous`:
// between two regions it was given values for different data, so that the time belongs to no single
// size. `error`: what CUDA says of a launch within the region, where that fails.
#ifndef CUTUNE_TUNABLES_H
#define CUTUNE_TUNABLES_H

// What cuda_runtime.h includes already.
#include <initializer_list>

#include "cutune_asked.h"
#include "cutune_record.h"

struct cutune_time {
    long seconds, nanoseconds;
};

extern "C" {
// The first argument is the clock; 1 is monotonic.
int cutune_read_clock(int, cutune_time *) asm("clock_gettime");
int cutune_yield() asm("sched_yield");
long long cutune_whole_number(const char *, char **, int) asm("strtoll");
}

struct cutune_datum {
    const char *name;
    long long value;
};
typedef std::initializer_list<cutune_datum> cutune_data;

struct cutune_tunable_state {
    const char *name;
    long long value, original;
    cutune_array<cutune_datum> data;
    bool ambiguous;
    bool fresh;  // it was given its value since the last region ended
};

struct cutune_tunables_state {
    cutune_atomic<bool> is_busy;
    cutune_array<cutune_tunable_state> current;
    long long begin;      // in nanoseconds
    cudaError_t pending;  // an error from before the region

    cutune_tunable_state *find(const char *name) {
        for (cutune_tunable_state &own : current)
            if (__builtin_strcmp(own.name, name) == 0) return &own;
        return nullptr;
    }
};

inline cutune_tunables_state &cutune_tunables() {
    static cutune_tunables_state state;
    return state;
}

class cutune_tunables_lock {
  public:
    explicit cutune_tunables_lock(cutune_tunables_state &state) : is_busy_(&state.is_busy) {
        while (is_busy_->exchange(true)) cutune_yield();
    }
    cutune_tunables_lock(const cutune_tunables_lock &) = delete;
    cutune_tunables_lock &operator=(const cutune_tunables_lock &) = delete;
    ~cutune_tunables_lock() { is_busy_->set(false); }

  private:
    cutune_atomic<bool> *is_busy_;
};

// The value that CUTUNE_SET gives to a name; false without one.
inline bool cutune_value_set(const char *name, long long *value) {
    const char *text = cutune_environment("CUTUNE_SET");
    const size_t length = __builtin_strlen(name);
    while (text != nullptr && *text != '\0') {
        if (__builtin_strncmp(text, name, length) == 0 && text[length] == '=') {
            char *end;
            const long long number = cutune_whole_number(text + length + 1, &end, 10);
            if (end != text + length + 1 && (*end == ',' || *end == '\0')) {
                *value = number;
                return true;
            }
            cutune_say(cutune_stderr,
                       "cutune: CUTUNE_SET='%s' is not understood; write it as m=64,R=2\n",
                       cutune_environment("CUTUNE_SET"));
            return false;
        }
        text = __builtin_strchr(text, ',');
        if (text != nullptr) ++text;
    }
    return false;
}

inline long long cutune_tunable_value(const char *name, long long original,
                                      const cutune_data &data) {
    long long value = original;
    cutune_value_set(name, &value);
    cutune_tunables_state &state = cutune_tunables();
    const cutune_tunables_lock lock(state);
    cutune_tunable_state *known = state.find(name);
    if (known == nullptr) known = &state.current.more();
    bool ambiguous = false;
    if (known->fresh) {
        ambiguous = known->ambiguous;
        for (size_t i = 0; i < data.size(); ++i)
            ambiguous = ambiguous || known->data[i].value != data.begin()[i].value;
    }
    known->name = name;
    known->value = value;
    known->original = original;
    known->data.assign(data.begin(), data.size());
    known->ambiguous = ambiguous;
    known->fresh = true;
    return value;
}

template <class Integer>
inline Integer cutune_tunable(const char *name, Integer original, const cutune_data &data) {
    return (Integer)cutune_tunable_value(name, (long long)original, data);
}

inline long long cutune_nanoseconds() {
    cutune_time now;
    cutune_read_clock(1, &now);
    return now.seconds * 1000000000ll + now.nanoseconds;
}

inline void cutune_region_begin(int) {
    if (!cutune_is_emulated()) cudaDeviceSynchronize();
    // The error stays for the program to ask for.
    cutune_tunables().pending = cudaPeekAtLastError();
    cutune_tunables().begin = cutune_nanoseconds();
}

inline void cutune_add_tunable(cutune_text *line, const char *comma,
                               const cutune_tunable_state &tunable) {
    line->add("%s\"%s\":{\"value\":%lld,\"original\":%lld,\"ambiguous\":%s,\"data\":{", comma,
              tunable.name, tunable.value, tunable.original, tunable.ambiguous ? "true" : "false");
    for (size_t i = 0; i < tunable.data.size(); ++i)
        line->add("%s\"%s\":%lld", i > 0 ? "," : "", tunable.data[i].name, tunable.data[i].value);
    line->add("}}");
}

inline void cutune_region_end(int region) {
    cutune_tunables_state &state = cutune_tunables();
    if (!cutune_is_emulated()) cudaDeviceSynchronize();
    const long long time = cutune_nanoseconds() - state.begin;
    const cudaError_t error = cudaPeekAtLastError();
    const cutune_tunables_lock lock(state);
    if (cutune_environment("CUTUNE_OUTPUT") != nullptr) {
        cudaDeviceProp properties;
        int device = 0;
        const bool is_known = cudaGetDevice(&device) == cudaSuccess &&
                              cudaGetDeviceProperties(&properties, device) == cudaSuccess;
        cutune_text line;
        line.add("{\"schema\":\"cutune-region-1\",\"region\":%d,\"device\":\"%s\"", region,
                 is_known ? properties.name : "unknown");
        if (cutune_is_emulated())
            line.add(",\"milliseconds\":null");
        else
            line.add(",\"milliseconds\":%.6f", static_cast<double>(time) / 1e6);
        line.add(",\"tunables\":{");
        const char *comma = "";
        for (const cutune_tunable_state &own : state.current) {
            cutune_add_tunable(&line, comma, own);
            comma = ",";
        }
        line.add("}");
        if (error != cudaSuccess && state.pending == cudaSuccess)
            line.add(",\"error\":\"%s\"", cudaGetErrorString(error));
        cutune_write_line(&line);
    }
    for (cutune_tunable_state &own : state.current) own.fresh = false;
}

#endif  // CUTUNE_TUNABLES_H
