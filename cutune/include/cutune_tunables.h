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

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cutune_buffers.h"
#include "cutune_record.h"

typedef std::vector<std::pair<const char *, long long>> cutune_data;

struct cutune_tunable_state {
    long long value, original;
    cutune_data data;
    bool ambiguous;
    bool fresh;  // it was given its value since the last region ended
};

struct cutune_tunables_state {
    std::mutex mutex;
    std::map<std::string, cutune_tunable_state> current;
    std::chrono::steady_clock::time_point begin;
    cudaError_t pending;  // an error from before the region
};

inline cutune_tunables_state &cutune_tunables() {
    static cutune_tunables_state state;
    return state;
}

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
    const std::lock_guard<std::mutex> lock(state.mutex);
    const auto known = state.current.find(name);
    bool ambiguous = false;
    if (known != state.current.end() && known->second.fresh) {
        ambiguous = known->second.ambiguous;
        for (size_t i = 0; i < data.size(); ++i)
            ambiguous = ambiguous || known->second.data[i].second != data[i].second;
    }
    state.current[name] = {value, original, data, ambiguous, true};
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
    const std::lock_guard<std::mutex> lock(state.mutex);
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
        for (const auto &entry : state.current) {
            const cutune_tunable_state &own = entry.second;
            line += comma + ("\"" + entry.first) + "\":{\"value\":" + std::to_string(own.value) +
                    ",\"original\":" + std::to_string(own.original) +
                    ",\"ambiguous\":" + (own.ambiguous ? "true" : "false") + ",\"data\":{";
            for (size_t i = 0; i < own.data.size(); ++i)
                line += (i ? ",\"" : "\"") + std::string(own.data[i].first) +
                        "\":" + std::to_string(own.data[i].second);
            line += "}}";
            comma = ",";
        }
        line += "}";
        if (error != cudaSuccess && state.pending == cudaSuccess)
            line += std::string(",\"error\":\"") + cudaGetErrorString(error) + "\"";
        cutune_write_line(line + "}");
    }
    for (auto &entry : state.current) entry.second.fresh = false;
}

#endif  // CUTUNE_TUNABLES_H
