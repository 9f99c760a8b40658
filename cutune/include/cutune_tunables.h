// Host integers of an instrumented program: their values are set from outside, regions are timed.
//
//   CUTUNE_SET              values in place of the program's own: `m=64,R=2`
//   CUTUNE_REPEAT           further ones, with which regions that may repeat run again in turn:
//                           `m=32,R=2;m=16,R=2`. Behind them the program goes on with the first.
//   CUTUNE_OUTPUT           file to which a line of JSON is appended for each region
//
// A line (`cutune-region-1`) has region, turn (the place in CUTUNE_REPEAT, 0: CUTUNE_SET), device,
// milliseconds (null on the emulated device, which has no time) and tunables: the last value of
// each, the program's own, and its data. `ambiguous`: between two regions it was given values for
// different data, so that the time belongs to no single size. `error`: what CUDA says of a launch
// within the region, where that fails.
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
    int turn;             // 0: with CUTUNE_SET, then the place in CUTUNE_REPEAT
    const char *setting;  // of this turn, within CUTUNE_REPEAT
    bool is_again;        // the region begins for its next turn

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

// Does a setting, one of several that `;` divides, end here?
inline bool cutune_setting_ends(char letter) { return letter == '\0' || letter == ';'; }

// The value that a setting gives to a name; false without one.
inline bool cutune_value_in(const char *setting, const char *name, long long *value) {
    const size_t length = __builtin_strlen(name);
    const char *text = setting;
    while (text != nullptr && !cutune_setting_ends(*text)) {
        if (__builtin_strncmp(text, name, length) == 0 && text[length] == '=') {
            char *end;
            const long long number = cutune_whole_number(text + length + 1, &end, 10);
            if (end != text + length + 1 && (*end == ',' || cutune_setting_ends(*end))) {
                *value = number;
                return true;
            }
            cutune_say(cutune_stderr, "cutune: '%s' is not understood; write it as m=64,R=2\n",
                       setting);
            return false;
        }
        while (*text != ',' && !cutune_setting_ends(*text)) ++text;
        if (*text == ',') ++text;
    }
    return false;
}

// The value that this turn gives to a name; false without one.
inline bool cutune_value_set(const char *name, long long *value) {
    const char *setting = cutune_tunables().setting;
    if (setting == nullptr) setting = cutune_environment("CUTUNE_SET");
    return cutune_value_in(setting, name, value);
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
    cutune_tunables_state &state = cutune_tunables();
    // A region that was left in the middle has ended its turns.
    if (!state.is_again) state.turn = 0, state.setting = nullptr;
    state.is_again = false;
    if (!cutune_is_emulated()) cudaDeviceSynchronize();
    // The error stays for the program to ask for.
    state.pending = cudaPeekAtLastError();
    state.begin = cutune_nanoseconds();
}

// Behind a region that may repeat. 2: there are further values, and it runs again with them; 1: it
// has run again, and the program goes on with the first values; 0: nothing is to be repeated.
inline int cutune_region_again() {
    cutune_tunables_state &state = cutune_tunables();
    const cutune_tunables_lock lock(state);
    const char *next = cutune_environment("CUTUNE_REPEAT");
    if (state.turn > 0) {
        next = __builtin_strchr(state.setting, ';');
        if (next != nullptr) ++next;
    }
    const bool is_over = next == nullptr || *next == '\0';
    if (is_over && state.turn == 0) return 0;
    state.turn = is_over ? 0 : state.turn + 1;
    state.setting = is_over ? nullptr : next;
    state.is_again = !is_over;
    return is_over ? 1 : 2;
}

// The value of this turn for a variable that got one before the region. Its original value is not
// computed again; of its data, tunables may have changed.
template <class Integer>
inline void cutune_give_next(const char *name, Integer &variable) {
    cutune_tunables_state &state = cutune_tunables();
    const cutune_tunables_lock lock(state);
    cutune_tunable_state *known = state.find(name);
    if (known == nullptr) return;
    known->value = known->original;
    cutune_value_set(name, &known->value);
    for (cutune_datum &datum : known->data) {
        const cutune_tunable_state *given = state.find(datum.name);
        if (given != nullptr) datum.value = given->value;
    }
    variable = (Integer)known->value;
}

inline void cutune_add_tunable(cutune_text *line, const char *comma,
                               const cutune_tunable_state &tunable) {
    line->add("%s\"%s\":{\"value\":%lld,\"original\":%lld,\"ambiguous\":%s,\"data\":{", comma,
              tunable.name, tunable.value, tunable.original, tunable.ambiguous ? "true" : "false");
    for (size_t i = 0; i < tunable.data.size(); ++i)
        line->add("%s\"%s\":%lld", i > 0 ? "," : "", tunable.data[i].name, tunable.data[i].value);
    line->add("}}");
}

// The name of the current device; asking for it may take longer than a region does.
inline const char *cutune_current_device() {
    static int known = -1;
    static cudaDeviceProp properties;
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return "unknown";
    if (device != known && cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        return "unknown";
    known = device;
    return properties.name;
}

inline void cutune_region_end(int region) {
    cutune_tunables_state &state = cutune_tunables();
    if (!cutune_is_emulated()) cudaDeviceSynchronize();
    const long long time = cutune_nanoseconds() - state.begin;
    const cudaError_t error = cudaPeekAtLastError();
    const cutune_tunables_lock lock(state);
    if (cutune_environment("CUTUNE_OUTPUT") != nullptr) {
        cutune_text line;
        line.add("{\"schema\":\"cutune-region-1\",\"region\":%d,\"turn\":%d,\"device\":\"%s\"",
                 region, state.turn, cutune_current_device());
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
