// Questions of a tuned program's selection routines: the mode, and the current device.
// Lock-free; nothing is read twice, and no error of the program is touched. Needs cutune_host.h
// before it.
#ifndef CUTUNE_CHOICE_H
#define CUTUNE_CHOICE_H

#include <cuda_runtime.h>
// nvcc includes these before any program.
#include <stdlib.h>
#include <string.h>

// Of CUTUNE=off|verbose|refine, or several with commas; whatever else it says is told, once.
enum cutune_mode { cutune_mode_off = 1, cutune_mode_verbose = 2, cutune_mode_refine = 4 };

inline int cutune_read_mode() {
    static cutune_atomic<int> known = {-1};
    int mode = known.get();
    if (mode < 0) {
        const char *const text = getenv("CUTUNE");
        mode = 0;
        if (text != nullptr) {
            // A bit for each; the last one is what there is without any.
            static const char *const words[] = {"off", "verbose", "refine", "on"};
            size_t unknown = 0;  // letters
            for (const char *at = text; *at != 0; ++at) unknown += *at != ',';
            for (int i = 0; i < 4; ++i)
                if (strstr(text, words[i]) != nullptr) {
                    mode |= 1 << i;
                    unknown -= strlen(words[i]);
                }
            if (unknown != 0)
                cutune_say(cutune_stderr, "cutune: CUTUNE=%s; known: off, verbose, refine\n", text);
        }
        known.set(mode);
    }
    return mode;
}

inline bool cutune_is_verbose() { return (cutune_read_mode() & cutune_mode_verbose) != 0; }

struct cutune_device {
    int multiprocessors, major, minor;  // all 0 when the device cannot be asked
};

// Index of the current device, or -1 when it cannot be asked for.
inline int cutune_current_ordinal() {
    static cutune_atomic<int> devices = {-1};
    int count = devices.get();
    if (count == 1) return 0;
    if (count < 0) {
        // A pending error would be replaced if this failed.
        if (cudaPeekAtLastError() != cudaSuccess) return -1;
        if (cutune_refused(cudaGetDeviceCount(&count))) count = 0;
        devices.set(count);
    }
    int ordinal = 0;
    // Where this fails, so does the launch that it is asked for, and for the same reason.
    return count > 0 && cudaGetDevice(&ordinal) == cudaSuccess ? ordinal : -1;
}

// The current device. Asked once per device; several threads may ask at the same time.
inline cutune_device cutune_current_device() {
    enum { most_devices = 64 };
    static cutune_atomic<unsigned> known[most_devices];  // 0: not asked yet
    cutune_device device = {0, 0, 0};
    const int ordinal = cutune_current_ordinal();
    if (ordinal < 0 || ordinal >= most_devices) return device;
    unsigned facts = known[ordinal].get();
    if (facts == 0) {
        if (cudaPeekAtLastError() != cudaSuccess) return device;
        int count = 0, major = 0, minor = 0;
        if (cutune_refused(cudaDeviceGetAttribute(
                &count, cudaDevAttrMultiProcessorCount, ordinal)) ||
            cutune_refused(cudaDeviceGetAttribute(
                &major, cudaDevAttrComputeCapabilityMajor, ordinal)) ||
            cutune_refused(cudaDeviceGetAttribute(
                &minor, cudaDevAttrComputeCapabilityMinor, ordinal)))
            return device;
        facts = static_cast<unsigned>(count) << 16 | static_cast<unsigned>(major) << 8 |
                static_cast<unsigned>(minor);
        known[ordinal].set(facts);
    }
    device.multiprocessors = static_cast<int>(facts >> 16);
    device.major = static_cast<int>(facts >> 8 & 255u);
    device.minor = static_cast<int>(facts & 255u);
    return device;
}

#endif  // CUTUNE_CHOICE_H
