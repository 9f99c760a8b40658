// The probe of an instrumented program does nothing with a launch, prints a line, or experiments.
#ifndef CUTUNE_EXPERIMENT_H
#define CUTUNE_EXPERIMENT_H

#include "cutune_sweep.h"

enum cutune_probe_mode { cutune_probe_off, cutune_probe_record, cutune_probe_sweep,
                         cutune_probe_profile };

inline cutune_probe_mode cutune_read_probe_mode() {
    const char *const text = getenv("CUTUNE_MODE");
    if (text == nullptr || strcmp(text, "off") == 0) return cutune_probe_off;
    if (strcmp(text, "record") == 0) return cutune_probe_record;
    if (strcmp(text, "sweep") == 0) return cutune_probe_sweep;
    if (strcmp(text, "profile") == 0) return cutune_probe_profile;
    cutune_say(cutune_stderr, "cutune: CUTUNE_MODE='%s' is not off, record, sweep or profile\n",
               text);
    return cutune_probe_off;
}

inline cutune_probe_mode cutune_current_probe_mode() {
    static const cutune_probe_mode mode = cutune_read_probe_mode();
    return mode;
}

// One experiment at a time: launches of other threads meanwhile run as they were written.
inline cutune_atomic<bool> &cutune_experiment_running() {
    static cutune_atomic<bool> running = {false};
    return running;
}

// Nothing may be asked of the device while a stream is capturing, and nothing is asked while an
// error is pending: the program has to find it.
inline bool cutune_may_interfere(cudaStream_t stream) {
    return cudaPeekAtLastError() == cudaSuccess && !cutune_captures(stream);
}

inline bool cutune_is_probing() { return cutune_current_probe_mode() != cutune_probe_off; }

// `launches` counts those of the site. A result other than nullptr says what to launch, and has
// to be ended.
inline cutune_experiment *cutune_begin(const cutune_asked_launch &asked, int *launches) {
    if (!cutune_may_interfere(asked.stream)) return nullptr;
    const cutune_probe_mode mode = cutune_current_probe_mode();
    static const int limit = cutune_environment_number(
        "CUTUNE_LAUNCH_LIMIT", mode == cutune_probe_record ? 2147483647 : 1);
    const int number = __atomic_fetch_add(launches, 1, __ATOMIC_SEQ_CST);
    if (number >= limit) return nullptr;
    cutune_limits limits;
    if (!cutune_ask_kernel(*asked.site, asked.kernel, &limits)) return nullptr;
    if (mode == cutune_probe_record) {
        const cutune_kept_launch launch(asked, limits, number);
        cutune_text line;
        cutune_add_launch(&line, "cutune-record-1", launch, asked.step);
        cutune_write_line(&line);
        return nullptr;
    }
    if (cutune_experiment_running().exchange(true)) return nullptr;
    return new cutune_experiment(asked, limits, number, mode == cutune_probe_sweep);
}

// Sets the next launch of an experiment, unless that is over.
inline cutune_turn cutune_next(cutune_experiment *experiment, cutune_step *now) {
    return experiment->next(now);
}

// Were as many experiments made as are wanted? Then the program need not go on.
inline cutune_atomic<bool> &cutune_all_are_made() {
    static cutune_atomic<bool> made = {false};
    return made;
}

inline void cutune_end(cutune_experiment *experiment) {
    experiment->end();
    static const int wanted = cutune_environment_number("CUTUNE_EXPERIMENTS", 0);
    static cutune_atomic<int> made = {0};
    if (experiment->is_wanted() && made.add(1) + 1 == wanted) cutune_all_are_made().set(true);
    delete experiment;
    cutune_experiment_running().set(false);
}

#endif  // CUTUNE_EXPERIMENT_H
