// Questions of a tuned program's selection routines: the mode, and the current device.
// Lock-free; nothing is read twice, and no error of the program is touched. Needs cutune_host.h
// before it.
#ifndef CUTUNE_CHOICE_H
#define CUTUNE_CHOICE_H

#include <cuda_runtime.h>
// nvcc includes these before any program.
#include <stdlib.h>
#include <string.h>

// Of CUTUNE=off|verbose|refine, or several with commas. Any other word is told, and does nothing.
enum cutune_mode { cutune_mode_off = 1, cutune_mode_verbose = 2, cutune_mode_refine = 4 };

inline int cutune_read_mode() {
    static cutune_atomic<int> known = {-1};
    int mode = known.get();
    if (mode < 0) {
        // A bit for each; "on" is what there is without any, and the last bit is of all others.
        static const char *const words[] = {"off", "verbose", "refine", "on"};
        const char *const text = getenv("CUTUNE");
        mode = 0;
        for (const char *at = text; at != nullptr && *at != 0; at += *at != 0) {
            const size_t letters = strcspn(at, ", ");
            int word = 0;
            while (word < 4 &&
                   (strlen(words[word]) != letters || strncmp(at, words[word], letters) != 0))
                ++word;
            if (letters != 0) mode |= 1 << word;
            at += letters;
        }
        if (mode >> 4 != 0)
            cutune_say(cutune_stderr, "cutune: CUTUNE=%s; known: off, verbose, refine\n", text);
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
        static const cudaDeviceAttr attributes[] = {cudaDevAttrMultiProcessorCount,
                                                    cudaDevAttrComputeCapabilityMajor,
                                                    cudaDevAttrComputeCapabilityMinor};
        for (const cudaDeviceAttr one : attributes) {
            int value = 0;
            if (cutune_refused(cudaDeviceGetAttribute(&value, one, ordinal))) return device;
            facts = facts << 8 | static_cast<unsigned>(value);
        }
        known[ordinal].set(facts);
    }
    return cutune_device{static_cast<int>(facts >> 16), static_cast<int>(facts >> 8 & 255u),
                         static_cast<int>(facts & 255u)};
}

#endif  // CUTUNE_CHOICE_H
