// The replacement of cuSOLVER: its handle, and how calls are checked and done. Workspaces are not
// used: each has one element.
#pragma once
#include "library_factors.h"
#include "library_typed.h"

struct cusolverDnContext {
    cudaStream_t stream = nullptr;
    int deterministic = 1, math_mode = 0;
};

namespace cutune {

using SolverHandle = cusolverDnContext*;

enum SolverStatus {
    kSolverSuccess = 0,
    kSolverNotInitialized = 1,
    kSolverInvalidValue = 3,
    kSolverFailed = 6,
    kSolverNotSupported = 9,
};
enum EigenMode { kNoVectors = 0, kVectors = 1 };

// Matrices by their extents and by the distances of their columns.
struct Extents {
    int64_t rows, columns, leading;
};

inline bool are_valid(std::initializer_list<Extents> all) {
    return std::all_of(all.begin(), all.end(), [](const Extents& one) {
        return one.rows >= 0 && one.columns >= 0 && one.leading >= std::max<int64_t>(1, one.rows);
    });
}

template <class Work>
int do_solver(SolverHandle handle, std::initializer_list<Extents> matrices, Work work) {
    if (!handle) return kSolverNotInitialized;
    if (!are_valid(matrices)) return kSolverInvalidValue;
    return do_on_stream(handle->stream, work) ? kSolverSuccess : kSolverFailed;
}

template <class I> int give_size(SolverHandle handle, I* size) {
    if (!handle) return kSolverNotInitialized;
    if (!size) return kSolverInvalidValue;
    *size = 1;
    return kSolverSuccess;
}

// Letters of types, with the beginning of the names that differ for reals and complex numbers.
#define CUTUNE_SOLVER_TYPES(F)                                                                     \
    F(S, float, float, or, sy) F(D, double, double, or, sy) F(C, Complex, float, un, he)           \
    F(Z, DoubleComplex, double, un, he)

template <class Use> int with_solver_type(int type, Use use) {
    return with_field(type, kSolverNotSupported, use);
}

}  // namespace cutune
