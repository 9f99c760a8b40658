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

// Every program of a search compiles this: no part of the standard library that takes long.
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cutune_asked.h"
#include "cutune_record.h"

struct cutune_datum {
    const char *name;
    long long value;
};
typedef std::vector<cutune_datum> cutune_data;

struct cutune_tunable_state {
    const char *name;
    long long value, original;
    cutune_data data;
    bool ambiguous;
    bool fresh;  // it was given its value since the last region ended
};

struct cutune_tunables_state {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::vector<cutune_tunable_state> current;
    std::chrono::steady_clock::time_point begin;
    cudaError_t pending;  // an error from before the region

    cutune_tunable_state *find(const char *name) {
        for (cutune_tunable_state &own : current)
            if (strcmp(own.name, name) == 0) return &own;
        return nullptr;
    }
};

inline cutune_tunables_state &cutune_tunables() {
    static cutune_tunables_state state;
    return state;
}

class cutune_tunables_lock {
  public:
    explicit cutune_tunables_lock(cutune_tunables_state &state) : mutex_(&state.mutex) {
        pthread_mutex_lock(mutex_);
    }
    cutune_tunables_lock(const cutune_tunables_lock &) = delete;
    cutune_tunables_lock &operator=(const cutune_tunables_lock &) = delete;
    ~cutune_tunables_lock() { pthread_mutex_unlock(mutex_); }

  private:
    pthread_mutex_t *mutex_;
};

// The value that CUTUNE_SET gives to a name; false without one.
inline bool cutune_value_set(const char *name, long long *value) {
    const char *text = getenv("CUTUNE_SET");
    const size_t length = strlen(name);
    while (text != nullptr && *text != '\0') {
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            char *end;
            const long long number = strtoll(text + length + 1, &end, 10);
            if (end != text + length + 1 && (*end == ',' || *end == '\0')) {
                *value = number;
                return true;
            }
            fprintf(stderr, "cutune: CUTUNE_SET='%s' is not understood; write it as m=64,R=2\n",
                    getenv("CUTUNE_SET"));
            return false;
        }
        text = strchr(text, ',');
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
    if (known == nullptr) {
        state.current.push_back({name, value, original, data, false, true});
        return value;
    }
    bool ambiguous = false;
    if (known->fresh) {
        ambiguous = known->ambiguous;
        for (size_t i = 0; i < data.size(); ++i)
            ambiguous = ambiguous || known->data[i].value != data[i].value;
    }
    *known = {name, value, original, data, ambiguous, true};
    return value;
}

template <class Integer>
inline Integer cutune_tunable(const char *name, Integer original, const cutune_data &data) {
    return (Integer)cutune_tunable_value(name, (long long)original, data);
}

inline void cutune_region_begin(int) {
    if (!cutune_is_emulated()) cudaDeviceSynchronize();
    // The error stays for the program to ask for.
    cutune_tunables().pending = cudaPeekAtLastError();
    cutune_tunables().begin = std::chrono::steady_clock::now();
}

inline void cutune_region_end(int region) {
    cutune_tunables_state &state = cutune_tunables();
    if (!cutune_is_emulated()) cudaDeviceSynchronize();
    const std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - state.begin;
    const cudaError_t error = cudaPeekAtLastError();
    const cutune_tunables_lock lock(state);
    if (getenv("CUTUNE_OUTPUT") != nullptr) {
        char milliseconds[64] = "null";
        if (!cutune_is_emulated())
            snprintf(milliseconds, sizeof milliseconds, "%.6f", time.count());
        cudaDeviceProp properties;
        int device = 0;
        std::string device_name = "unknown";
        if (cudaGetDevice(&device) == cudaSuccess &&
            cudaGetDeviceProperties(&properties, device) == cudaSuccess)
            device_name = properties.name;
        std::string line = "{\"schema\":\"cutune-region-1\",\"region\":" + std::to_string(region) +
                           ",\"device\":\"" + device_name + "\",\"milliseconds\":" + milliseconds +
                           ",\"tunables\":{";
        const char *comma = "";
        for (const cutune_tunable_state &own : state.current) {
            line += comma;
            line += "\"";
            line += own.name;
            line += "\":{\"value\":" + std::to_string(own.value);
            line += ",\"original\":" + std::to_string(own.original);
            line += own.ambiguous ? ",\"ambiguous\":true" : ",\"ambiguous\":false";
            line += ",\"data\":{";
            for (size_t i = 0; i < own.data.size(); ++i) {
                line += i ? ",\"" : "\"";
                line += own.data[i].name;
                line += "\":" + std::to_string(own.data[i].value);
            }
            line += "}}";
            comma = ",";
        }
        line += "}";
        if (error != cudaSuccess && state.pending == cudaSuccess)
            line += std::string(",\"error\":\"") + cudaGetErrorString(error) + "\"";
        cutune_write_line(line + "}");
    }
    for (cutune_tunable_state &own : state.current) own.fresh = false;
}

#endif  // CUTUNE_TUNABLES_H
