// A launch as an instrumented program asks for it.
#ifndef CUTUNE_ASKED_H
#define CUTUNE_ASKED_H

#include "cutune_argument.h"

// Defined by the emulated device only.
extern "C" {
void cutune_emulated_site(int site) __attribute__((weak));
void cutune_emulated_signature(unsigned long long signature) __attribute__((weak));
void cutune_emulated_member(int position, int argument, int offset, int bytes, int is_signed)
    __attribute__((weak));
int cutune_emulated_snapshot(void) __attribute__((weak));
int cutune_emulated_restore(void) __attribute__((weak));
int cutune_emulated_discard(void) __attribute__((weak));
int cutune_emulated_range(const void *pointer, void **base, size_t *bytes) __attribute__((weak));
}

inline bool cutune_is_emulated() { return cutune_emulated_snapshot != nullptr; }

// What is launched once.
struct cutune_step {
    dim3 grid, block;
    size_t smem;
    int variant;  // of the kernel, or 0: itself
};

// The arguments live until the launch has begun only.
struct cutune_asked_launch {
    const cutune_site *site;
    const void *kernel;  // its address, or nullptr where that is not known
    bool has_variants;
    cutune_step step;
    cudaStream_t stream;
    size_t count;  // of arguments, members of these included
    const long long *integers;
    unsigned long long integer_bits;
    const cutune_argument *arguments;
    cutune_word signature;
};

// What the next launch of an experiment is.
enum cutune_turn {
    cutune_turn_candidate,  // one of several: ask again behind it
    cutune_turn_in_place,   // the program's own launch, as the experiment has it
    cutune_turn_over        // the program's own launch, as the program has it
};

// One launch turned into many (cutune_sweep.h).
class cutune_experiment;

#endif  // CUTUNE_ASKED_H
