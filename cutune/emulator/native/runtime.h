// What the files of the replacement libcudart share: the lock, the error state, the arena, the
// device clock. Every entry point is `return call([&] { … })`, which holds the lock, refuses to go
// on after a sticky error and remembers what cudaGetLastError will say.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "runtime_arena.h"
#include "runtime_device.h"

namespace cutune {

struct Runtime {
    std::recursive_mutex mutex;
    // An error that a kernel caused (illegal address, trap, …). CUDA answers every later call
    // that asks this device with it until the process ends.
    cudaError_t sticky[kMostDevices] = {};
    // Modelled time on the device in milliseconds: see advance_clock_by_launch().
    double clock_ms = 0;
    Arena arena;

    Runtime();
};

// Made on first use and never destroyed: programs call us from destructors of global objects.
Runtime& runtime();

// Remember an error for cudaGetLastError of this thread, and return it.
cudaError_t remember(cudaError_t error);

// Make the primary context of the current device current unless a thread has another one.
void need_context();
// The same of a device, whatever was current.
void use_primary_context(int device);

template <class Body>
cudaError_t call(Body body) {
    Runtime& shared = runtime();
    std::lock_guard<std::recursive_mutex> lock(shared.mutex);
    need_context();
    const cudaError_t sticky = shared.sticky[current_device()];
    if (sticky != cudaSuccess) return remember(sticky);
    const cudaError_t error = body();
    return error == cudaSuccess ? error : remember(error);
}

// What the calls that allocate do. `flags` of memory of a pool: its number (runtime_pools.h).
cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind, unsigned flags, int device);

// Modelled device time, never host time: launches cost warp instructions / (multiprocessors in use
// * 4 per cycle * clock) plus the launch floor, copies their bytes over the link's bandwidth.
void advance_clock_by_launch(uint64_t warp_instructions, uint64_t blocks);
void advance_clock_by_copy(uint64_t bytes, bool leaves_device);

// Print "cutune: …" on stderr as one line, so that lines of several threads do not mix.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
// The same unless this very text, or another one about the same, was printed before.
void say_once(const std::string& text, const std::string& about = "");
// Say once that a function, or what it was asked for, is not emulated.
void say_not_emulated(const std::string& what);
// Say once that a library holds NVIDIA's runtime.
void say_static_runtime(const std::string& library);

// A function of the driver's interface by its name, as programs of this version of CUDA call it.
void* driver_entry(const char* name, int version);

// An environment variable, or `fallback` when it is unset or empty.
std::string environment(const char* name, const std::string& fallback = "");

}  // namespace cutune
