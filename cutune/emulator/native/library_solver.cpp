// cuSOLVER: handles, and factors of dense matrices: LU, Cholesky, QR. All is computed in double
// precision, so that results differ from NVIDIA's in the last bits.
#include <type_traits>

#include "library_solver.h"

namespace cutune {

namespace {

template <class T> using Numbers = std::vector<Wide<T>>;

template <class T, class I>
int getrf(SolverHandle handle, int64_t m, int64_t n, T* a, int64_t lda, I* pivots, int* info) {
    return do_solver(handle, {{m, n, lda}}, [=] {
        auto matrix = read_matrix(a, m, n, lda);
        std::vector<int> found;
        const int singular = factor_lu(&matrix, &found, pivots != nullptr);
        write_matrix(a, lda, matrix);
        write_plain(pivots, std::vector<I>(found.begin(), found.end()));
        write_plain(info, {singular});
    });
}

template <class T, class I>
int getrs(SolverHandle handle, int operation, int64_t n, int64_t count, const T* a, int64_t lda,
          const I* pivots, T* b, int64_t ldb, int* info) {
    return do_solver(handle, {{n, n, lda}, {n, count, ldb}}, [=] {
        const auto found = pivots ? read_plain(pivots, n) : std::vector<I>();
        auto right = read_matrix(b, n, count, ldb);
        solve_lu(read_matrix(a, n, n, lda), {found.begin(), found.end()}, operation, &right);
        write_matrix(b, ldb, right);
        write_plain(info, {0});
    });
}

// What is kept of a hermitian matrix in one of its triangles: L, or U = L'.
template <class T>
void write_factor(T* a, int fill, int64_t lda, const Matrix<Wide<T>>& lower) {
    write_triangle(a, fill, lda, Wide<T>(1), fill == kUpper ? transposed(lower, true) : lower,
                   Wide<T>());
}

template <class T> Matrix<Wide<T>> read_factor(const T* a, int fill, int64_t n, int64_t lda) {
    return read_triangle(a, fill, fill == kUpper ? kConjugated : kPlain, false, n, lda);
}

template <class T> int factored_cholesky(T* a, int fill, int64_t n, int64_t lda) {
    auto matrix = read_symmetric(a, fill, n, lda, true);
    const int failed = factor_cholesky(&matrix);
    write_factor(a, fill, lda, matrix);
    return failed;
}

template <class T>
int potrf(SolverHandle handle, int fill, int64_t n, T* a, int64_t lda, int* info) {
    return do_solver(handle, {{n, n, lda}},
                     [=] { write_plain(info, {factored_cholesky(a, fill, n, lda)}); });
}

template <class T>
void solved_cholesky(const T* a, int fill, int64_t n, int64_t lda, T* b, int64_t count,
                     int64_t ldb) {
    auto right = read_matrix(b, n, count, ldb);
    solve_cholesky(read_factor(a, fill, n, lda), &right);
    write_matrix(b, ldb, right);
}

template <class T>
int potrs(SolverHandle handle, int fill, int64_t n, int64_t count, const T* a, int64_t lda, T* b,
          int64_t ldb, int* info) {
    return do_solver(handle, {{n, n, lda}, {n, count, ldb}}, [=] {
        solved_cholesky(a, fill, n, lda, b, count, ldb);
        write_plain(info, {0});
    });
}

template <class T>
int potri(SolverHandle handle, int fill, int64_t n, T* a, int64_t lda, int* info) {
    return do_solver(handle, {{n, n, lda}}, [=] {
        auto inverse = identity<Wide<T>>(n, n);
        solve_cholesky(read_factor(a, fill, n, lda), &inverse);
        write_triangle(a, fill, lda, Wide<T>(1), inverse, Wide<T>());
        write_plain(info, {0});
    });
}

template <class T>
int potrf_batched(SolverHandle handle, int fill, int64_t n, T** a, int64_t lda, int* info,
                  int64_t count) {
    return do_solver(handle, {{n, n, lda}, {count, 0, count + 1}}, [=] {
        std::vector<int> failed;
        for (T* const each : read_plain(a, count))
            failed.push_back(factored_cholesky(each, fill, n, lda));
        write_plain(info, failed);
    });
}

template <class T>
int potrs_batched(SolverHandle handle, int fill, int64_t n, int64_t columns, T** a, int64_t lda,
                  T** b, int64_t ldb, int* info, int64_t count) {
    return do_solver(handle, {{n, n, lda}, {n, columns, ldb}, {count, 0, count + 1}}, [=] {
        const auto left = read_plain(a, count), right = read_plain(b, count);
        for (size_t k = 0; k < left.size(); ++k)
            solved_cholesky(left[k], fill, n, lda, right[k], columns, ldb);
        write_plain(info, {0});
    });
}

template <class T>
int geqrf(SolverHandle handle, int64_t m, int64_t n, T* a, int64_t lda, T* taus, int* info) {
    return do_solver(handle, {{m, n, lda}}, [=] {
        auto matrix = read_matrix(a, m, n, lda);
        Numbers<T> found;
        factor_qr(&matrix, &found);
        write_matrix(a, lda, matrix);
        write_vector(taus, 1, found);
        write_plain(info, {0});
    });
}

// The first n columns of the product of k reflections.
template <class T>
int orgqr(SolverHandle handle, int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* taus,
          int* info) {
    if (n > m || k > n || k < 0) return handle ? kSolverInvalidValue : kSolverNotInitialized;
    return do_solver(handle, {{m, n, lda}}, [=] {
        auto found = identity<Wide<T>>(m, n);
        multiply_by_q(read_matrix(a, m, k, lda), read_vector(taus, k, 1), false, &found);
        write_matrix(a, lda, found);
        write_plain(info, {0});
    });
}

// C = op(Q) C, or C op(Q).
template <class T>
int ormqr(SolverHandle handle, int side, int operation, int64_t m, int64_t n, int64_t k,
          const T* a, int64_t lda, const T* taus, T* c, int64_t ldc, int* info) {
    const int64_t rows = side == kLeft ? m : n;
    const bool is_unknown = operation == kTransposed && !std::is_floating_point<T>::value;
    if (k < 0 || k > rows || is_unknown)
        return handle ? kSolverInvalidValue : kSolverNotInitialized;
    return do_solver(handle, {{rows, k, lda}, {m, n, ldc}}, [=] {
        const auto vectors = read_matrix(a, rows, k, lda);
        const auto found = read_vector(taus, k, 1);
        auto matrix = read_matrix(c, m, n, ldc);
        const bool conjugated = operation != kPlain;
        if (side == kLeft) {
            multiply_by_q(vectors, found, conjugated, &matrix);
        } else {  // (Q' C')' = C Q
            matrix = transposed(matrix, true);
            multiply_by_q(vectors, found, !conjugated, &matrix);
            matrix = transposed(matrix, true);
        }
        write_matrix(c, ldc, matrix);
        write_plain(info, {0});
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

// ---- handles

int cusolverDnCreate(SolverHandle* handle) {
    if (!handle) return kSolverInvalidValue;
    if (cudaFree(nullptr) != cudaSuccess) return kSolverNotInitialized;
    *handle = new cusolverDnContext;
    return kSolverSuccess;
}

int cusolverDnDestroy(SolverHandle handle) {
    if (!handle) return kSolverNotInitialized;
    delete handle;
    return kSolverSuccess;
}

#define CUTUNE_SETTING(SET, GET, TYPE, FIELD)                                                      \
    int SET(SolverHandle handle, TYPE value) {                                                     \
        if (!handle) return kSolverNotInitialized;                                                 \
        handle->FIELD = value;                                                                     \
        return kSolverSuccess;                                                                     \
    }                                                                                              \
    int GET(SolverHandle handle, TYPE* value) {                                                    \
        if (!handle) return kSolverNotInitialized;                                                 \
        *value = handle->FIELD;                                                                    \
        return kSolverSuccess;                                                                     \
    }
CUTUNE_SETTING(cusolverDnSetStream, cusolverDnGetStream, cudaStream_t, stream)
CUTUNE_SETTING(cusolverDnSetDeterministicMode, cusolverDnGetDeterministicMode, int, deterministic)
CUTUNE_SETTING(cusolverDnSetMathMode, cusolverDnGetMathMode, int, math_mode)
#undef CUTUNE_SETTING

// What is chosen by them is how NVIDIA's library computes.
int cusolverDnCreateParams(void** parameters) {
    *parameters = new int(0);
    return kSolverSuccess;
}

int cusolverDnDestroyParams(void* parameters) {
    delete static_cast<int*>(parameters);
    return kSolverSuccess;
}

int cusolverDnSetAdvOptions(void*, int, int) { return kSolverSuccess; }

// That of the toolkit, less one, since CUDA 11.
int cusolverGetVersion(int* version) {
    *version = (CUDART_VERSION / 1000 - 1) * 1000;
    return kSolverSuccess;
}

int cusolverGetProperty(int part, int* value) {
    if (part < 0 || part > 2 || !value) return kSolverInvalidValue;
    *value = part == 0 ? CUDART_VERSION / 1000 - 1 : 0;
    return kSolverSuccess;
}

// ---- by the letter of a type

#define CUTUNE_FACTORS(L, T, R, OR, SY)                                                            \
    int cusolverDn##L##getrf_bufferSize(SolverHandle h, int, int, T*, int, int* size) {            \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##getrf(SolverHandle h, int m, int n, T* a, int lda, T*, int* pivots,         \
                             int* info) {                                                          \
        return getrf(h, m, n, a, lda, pivots, info);                                               \
    }                                                                                              \
    int cusolverDn##L##getrs(SolverHandle h, int op, int n, int count, const T* a, int lda,        \
                             const int* pivots, T* b, int ldb, int* info) {                        \
        return getrs(h, op, n, count, a, lda, pivots, b, ldb, info);                               \
    }                                                                                              \
    int cusolverDn##L##potrf_bufferSize(SolverHandle h, int, int, T*, int, int* size) {            \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##potrf(SolverHandle h, int fill, int n, T* a, int lda, T*, int, int* info) { \
        return potrf(h, fill, n, a, lda, info);                                                    \
    }                                                                                              \
    int cusolverDn##L##potrs(SolverHandle h, int fill, int n, int count, const T* a, int lda,      \
                             T* b, int ldb, int* info) {                                           \
        return potrs(h, fill, n, count, a, lda, b, ldb, info);                                     \
    }                                                                                              \
    int cusolverDn##L##potri_bufferSize(SolverHandle h, int, int, T*, int, int* size) {            \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##potri(SolverHandle h, int fill, int n, T* a, int lda, T*, int, int* info) { \
        return potri(h, fill, n, a, lda, info);                                                    \
    }                                                                                              \
    int cusolverDn##L##potrfBatched(SolverHandle h, int fill, int n, T** a, int lda, int* info,    \
                                    int count) {                                                   \
        return potrf_batched(h, fill, n, a, lda, info, count);                                     \
    }                                                                                              \
    int cusolverDn##L##potrsBatched(SolverHandle h, int fill, int n, int columns, T** a, int lda,  \
                                    T** b, int ldb, int* info, int count) {                        \
        return potrs_batched(h, fill, n, columns, a, lda, b, ldb, info, count);                    \
    }                                                                                              \
    int cusolverDn##L##geqrf_bufferSize(SolverHandle h, int, int, T*, int, int* size) {            \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##geqrf(SolverHandle h, int m, int n, T* a, int lda, T* taus, T*, int,        \
                             int* info) {                                                          \
        return geqrf(h, m, n, a, lda, taus, info);                                                 \
    }                                                                                              \
    int cusolverDn##L##OR##gqr_bufferSize(SolverHandle h, int, int, int, const T*, int, const T*,  \
                                          int* size) {                                             \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##OR##gqr(SolverHandle h, int m, int n, int k, T* a, int lda, const T* taus,  \
                               T*, int, int* info) {                                               \
        return orgqr(h, m, n, k, a, lda, taus, info);                                              \
    }                                                                                              \
    int cusolverDn##L##OR##mqr_bufferSize(SolverHandle h, int, int, int, int, int, const T*, int,  \
                                          const T*, const T*, int, int* size) {                    \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##OR##mqr(SolverHandle h, int side, int op, int m, int n, int k, const T* a,  \
                               int lda, const T* taus, T* c, int ldc, T*, int, int* info) {        \
        return ormqr(h, side, op, m, n, k, a, lda, taus, c, ldc, info);                            \
    }
CUTUNE_SOLVER_TYPES(CUTUNE_FACTORS)

// ---- by numbers that name types

int cusolverDnXgetrf_bufferSize(SolverHandle h, void*, int64_t, int64_t, int, const void*, int64_t,
                                int, size_t* size, size_t* on_host) {
    give_size(h, on_host);
    return give_size(h, size);
}

int cusolverDnXgetrf(SolverHandle h, void*, int64_t m, int64_t n, int type, void* a, int64_t lda,
                     int64_t* pivots, int, void*, size_t, void*, size_t, int* info) {
    return with_solver_type(type, [&](auto element) {
        return getrf(h, m, n, static_cast<decltype(element)*>(a), lda, pivots, info);
    });
}

int cusolverDnXgetrs(SolverHandle h, void*, int op, int64_t n, int64_t count, int type,
                     const void* a, int64_t lda, const int64_t* pivots, int, void* b, int64_t ldb,
                     int* info) {
    return with_solver_type(type, [&](auto element) {
        using T = decltype(element);
        return getrs(h, op, n, count, static_cast<const T*>(a), lda, pivots, static_cast<T*>(b),
                     ldb, info);
    });
}

int cusolverDnXpotrf_bufferSize(SolverHandle h, void*, int, int64_t, int, const void*, int64_t, int,
                                size_t* size, size_t* on_host) {
    give_size(h, on_host);
    return give_size(h, size);
}

int cusolverDnXpotrf(SolverHandle h, void*, int fill, int64_t n, int type, void* a, int64_t lda,
                     int, void*, size_t, void*, size_t, int* info) {
    return with_solver_type(type, [&](auto element) {
        return potrf(h, fill, n, static_cast<decltype(element)*>(a), lda, info);
    });
}

int cusolverDnXpotrs(SolverHandle h, void*, int fill, int64_t n, int64_t count, int type,
                     const void* a, int64_t lda, int, void* b, int64_t ldb, int* info) {
    return with_solver_type(type, [&](auto element) {
        using T = decltype(element);
        return potrs(h, fill, n, count, static_cast<const T*>(a), lda, static_cast<T*>(b), ldb,
                     info);
    });
}

int cusolverDnXgeqrf_bufferSize(SolverHandle h, void*, int64_t, int64_t, int, const void*, int64_t,
                                int, const void*, int, size_t* size, size_t* on_host) {
    give_size(h, on_host);
    return give_size(h, size);
}

int cusolverDnXgeqrf(SolverHandle h, void*, int64_t m, int64_t n, int type, void* a, int64_t lda,
                     int, void* taus, int, void*, size_t, void*, size_t, int* info) {
    return with_solver_type(type, [&](auto element) {
        using T = decltype(element);
        return geqrf(h, m, n, static_cast<T*>(a), lda, static_cast<T*>(taus), info);
    });
}

// Functions that are not emulated end here (see link.py).
int cutune_unsupported_solver_call(const char* name) {
    say_not_emulated(name);
    return kSolverNotSupported;
}

}  // extern "C"
