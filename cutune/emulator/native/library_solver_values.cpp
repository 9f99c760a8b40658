// cuSOLVER: eigenvalues of hermitian matrices, and singular values. See library_solver.cpp.
#include <cctype>

#include "library_solver.h"

// What Jacobi's methods are told. They go on until rounding ends them, and sort what they find.
struct syevjInfo {};
struct gesvdjInfo {};

namespace cutune {

namespace {

template <class T>
void write_reals(T* to, const std::vector<double>& values) {
    if (to) write_vector(to, 1, values);
}

// Eigenvalues to `values`; eigenvectors in place of the matrix, if they are wanted.
template <class T>
int solved_eigen(int mode, int fill, int64_t n, T* a, int64_t lda, Real<T>* values) {
    const auto found = eigen(read_symmetric(a, fill, n, lda, true));
    write_reals(values, found.values);
    if (mode == kVectors) write_matrix(a, lda, found.vectors);
    return found.converged ? 0 : static_cast<int>(n + 1);
}

template <class T>
int syevd(SolverHandle handle, int mode, int fill, int64_t n, T* a, int64_t lda, Real<T>* values,
          int* info, int64_t count = 1) {
    return do_solver(handle, {{n, n, lda}, {count, 0, count + 1}}, [=] {
        std::vector<int> failed;
        for (int64_t each = 0; each < count; ++each)
            failed.push_back(
                solved_eigen(mode, fill, n, a + each * lda * n, lda, values + each * n));
        write_plain(info, failed);
    });
}

// How the vectors of one side are wanted: all, as many as there are values, in place of A, or none.
enum class Wanted { none, all, thin, in_place };

Wanted wanted_of(signed char job) {
    switch (std::toupper(job)) {
        case 'A': return Wanted::all;
        case 'S': return Wanted::thin;
        case 'O': return Wanted::in_place;
        default: return Wanted::none;
    }
}

template <class W> Matrix<W> first_columns(const Matrix<W>& from, int64_t count) {
    std::vector<int64_t> places(static_cast<size_t>(count));
    std::iota(places.begin(), places.end(), 0);
    return with_columns(from, places);
}

template <class T>
int gesvd(SolverHandle handle, signed char job_u, signed char job_vt, int64_t m, int64_t n, T* a,
          int64_t lda, Real<T>* values, T* u, int64_t ldu, T* vt, int64_t ldvt, int* info) {
    const Wanted left = wanted_of(job_u), right = wanted_of(job_vt);
    const bool is_wrong = m < n || (left == Wanted::in_place && right == Wanted::in_place);
    if (handle && is_wrong) return kSolverInvalidValue;
    return do_solver(handle, {{m, n, lda}}, [=] {
        const auto found = singular_values(read_matrix(a, m, n, lda));
        write_reals(values, found.values);
        const auto write = [&](Wanted wanted, const Matrix<Wide<T>>& all, T* to, int64_t leading) {
            if (wanted != Wanted::none)
                write_matrix(wanted == Wanted::in_place ? a : to,
                             wanted == Wanted::in_place ? lda : leading, all);
        };
        write(left, left == Wanted::all ? found.left : first_columns(found.left, n), u, ldu);
        write(right, transposed(found.right, true), vt, ldvt);
        write_plain(info, {found.converged ? 0 : 1});
    });
}

// Where the matrices of a batch lie: the distances of each kind.
struct Strides {
    int64_t a, values, u, v;
};

// Gives V, not its conjugate transposed. `rank`: as many values and vectors are given.
template <class T>
struct JacobiCall {
    int mode;
    int64_t rank, columns_of_u, columns_of_v, m, n;
    T* a;
    int64_t lda;
    Real<T>* values;
    T* u;
    int64_t ldu;
    T* v;
    int64_t ldv;

    bool one(int64_t each, const Strides& strides) const {
        auto found = singular_values(read_matrix(a + each * strides.a, m, n, lda));
        found.values.resize(static_cast<size_t>(rank));
        write_reals(values + each * strides.values, found.values);
        if (mode == kVectors) {
            write_matrix(u + each * strides.u, ldu, first_columns(found.left, columns_of_u));
            write_matrix(v + each * strides.v, ldv, first_columns(found.right, columns_of_v));
        }
        return found.converged;
    }

    int all(SolverHandle handle, const Strides& strides, int* info, int64_t count) const {
        if (handle && (rank < 0 || rank > std::min(m, n))) return kSolverInvalidValue;
        return do_solver(handle, {{m, n, lda}, {count, 0, count + 1}}, [=, call = *this] {
            std::vector<int> failed;
            for (int64_t each = 0; each < count; ++each)
                failed.push_back(call.one(each, strides) ? 0
                                                         : static_cast<int>(std::min(call.m, call.n) + 1));
            write_plain(info, failed);
        });
    }
};

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

// ---- what Jacobi's methods are told, and tell

#define CUTUNE_JACOBI(NAME, CREATE, DESTROY, TYPE)                                                 \
    int CREATE(TYPE** info) {                                                                      \
        if (!info) return kSolverInvalidValue;                                                     \
        *info = new TYPE;                                                                          \
        return kSolverSuccess;                                                                     \
    }                                                                                              \
    int DESTROY(TYPE* info) {                                                                      \
        delete info;                                                                               \
        return kSolverSuccess;                                                                     \
    }                                                                                              \
    int cusolverDnX##NAME##SetTolerance(TYPE*, double) { return kSolverSuccess; }                  \
    int cusolverDnX##NAME##SetMaxSweeps(TYPE*, int) { return kSolverSuccess; }                     \
    int cusolverDnX##NAME##SetSortEig(TYPE*, int) { return kSolverSuccess; }                       \
    int cusolverDnX##NAME##GetResidual(SolverHandle handle, TYPE*, double* residual) {             \
        if (!handle) return kSolverNotInitialized;                                                 \
        *residual = 0;                                                                             \
        return kSolverSuccess;                                                                     \
    }                                                                                              \
    int cusolverDnX##NAME##GetSweeps(SolverHandle handle, TYPE*, int* sweeps) {                    \
        if (!handle) return kSolverNotInitialized;                                                 \
        *sweeps = 1;                                                                               \
        return kSolverSuccess;                                                                     \
    }
CUTUNE_JACOBI(syevj, cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo, syevjInfo)
CUTUNE_JACOBI(gesvdj, cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo, gesvdjInfo)

// ---- by the letter of a type

#define CUTUNE_EIGEN(L, T, R, OR, SY)                                                              \
    int cusolverDn##L##SY##evd_bufferSize(SolverHandle h, int, int, int, const T*, int, const R*,  \
                                          int* size) {                                             \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##SY##evd(SolverHandle h, int mode, int fill, int n, T* a, int lda, R* w, T*, \
                               int, int* info) {                                                   \
        return syevd(h, mode, fill, n, a, lda, w, info);                                           \
    }                                                                                              \
    int cusolverDn##L##SY##evj_bufferSize(SolverHandle h, int, int, int, const T*, int, const R*,  \
                                          int* size, syevjInfo*) {                                 \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##SY##evj(SolverHandle h, int mode, int fill, int n, T* a, int lda, R* w, T*, \
                               int, int* info, syevjInfo*) {                                       \
        return syevd(h, mode, fill, n, a, lda, w, info);                                           \
    }                                                                                              \
    int cusolverDn##L##SY##evjBatched_bufferSize(SolverHandle h, int, int, int, const T*, int,     \
                                                 const R*, int* size, syevjInfo*, int) {           \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##SY##evjBatched(SolverHandle h, int mode, int fill, int n, T* a, int lda,    \
                                      R* w, T*, int, int* info, syevjInfo*, int count) {           \
        return syevd(h, mode, fill, n, a, lda, w, info, count);                                    \
    }
CUTUNE_SOLVER_TYPES(CUTUNE_EIGEN)

#define CUTUNE_SINGULAR(L, T, R, OR, SY)                                                           \
    int cusolverDn##L##gesvd_bufferSize(SolverHandle h, int, int, int* size) {                     \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##gesvd(SolverHandle h, signed char job_u, signed char job_vt, int m, int n,  \
                             T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, T*, int, R*,     \
                             int* info) {                                                          \
        return gesvd(h, job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt, info);                   \
    }                                                                                              \
    int cusolverDn##L##gesvdj_bufferSize(SolverHandle h, int, int, int, int, const T*, int,        \
                                         const R*, const T*, int, const T*, int, int* size,        \
                                         gesvdjInfo*) {                                            \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##gesvdj(SolverHandle h, int mode, int is_thin, int m, int n, T* a, int lda,  \
                              R* s, T* u, int ldu, T* v, int ldv, T*, int, int* info,              \
                              gesvdjInfo*) {                                                       \
        const int rank = std::min(m, n);                                                           \
        const JacobiCall<T> call{mode, rank, is_thin ? rank : m, is_thin ? rank : n, m, n,         \
                                 a,    lda,  s,                  u,                  ldu, v, ldv}; \
        return call.all(h, {}, info, 1);                                                           \
    }                                                                                              \
    int cusolverDn##L##gesvdjBatched_bufferSize(SolverHandle h, int, int, int, const T*, int,      \
                                                const R*, const T*, int, const T*, int, int* size, \
                                                gesvdjInfo*, int) {                                \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##gesvdjBatched(SolverHandle h, int mode, int m, int n, T* a, int lda, R* s,  \
                                     T* u, int ldu, T* v, int ldv, T*, int, int* info,             \
                                     gesvdjInfo*, int count) {                                     \
        if (h && (m > 32 || n > 32)) return kSolverInvalidValue;                                   \
        const int rank = std::min(m, n);                                                           \
        const JacobiCall<T> call{mode, rank, m, n, m, n, a, lda, s, u, ldu, v, ldv};               \
        const Strides strides{int64_t{lda} * n, rank, int64_t{ldu} * m, int64_t{ldv} * n};         \
        return call.all(h, strides, info, count);                                                  \
    }                                                                                              \
    int cusolverDn##L##gesvdaStridedBatched_bufferSize(                                            \
        SolverHandle h, int, int, int, int, const T*, int, long long, const R*, long long,         \
        const T*, int, long long, const T*, int, long long, int* size, int) {                      \
        return give_size(h, size);                                                                 \
    }                                                                                              \
    int cusolverDn##L##gesvdaStridedBatched(                                                       \
        SolverHandle h, int mode, int rank, int m, int n, const T* a, int lda, long long stride_a, \
        R* s, long long stride_s, T* u, int ldu, long long stride_u, T* v, int ldv,                \
        long long stride_v, T*, int, int* info, double* residuals, int count) {                    \
        const JacobiCall<T> call{mode, rank, rank, rank, m, n, const_cast<T*>(a), lda,             \
                                 s,    u,    ldu,  v,    ldv};                                     \
        if (residuals && count > 0) std::fill_n(residuals, count, 0.0);                            \
        return call.all(h, {stride_a, stride_s, stride_u, stride_v}, info, count);                 \
    }
CUTUNE_SOLVER_TYPES(CUTUNE_SINGULAR)

// ---- by numbers that name types

int cusolverDnXsyevd_bufferSize(SolverHandle h, void*, int, int, int64_t, int, const void*, int64_t,
                                int, const void*, int, size_t* size, size_t* on_host) {
    give_size(h, on_host);
    return give_size(h, size);
}

int cusolverDnXsyevd(SolverHandle h, void*, int mode, int fill, int64_t n, int type, void* a,
                     int64_t lda, int, void* w, int, void*, size_t, void*, size_t, int* info) {
    return with_solver_type(type, [&](auto element) {
        using T = decltype(element);
        return syevd(h, mode, fill, n, static_cast<T*>(a), lda, static_cast<Real<T>*>(w), info);
    });
}

int cusolverDnXsyevBatched_bufferSize(SolverHandle h, void*, int, int, int64_t, int, const void*,
                                      int64_t, int, const void*, int, size_t* size, size_t* on_host,
                                      int64_t) {
    give_size(h, on_host);
    return give_size(h, size);
}

int cusolverDnXsyevBatched(SolverHandle h, void*, int mode, int fill, int64_t n, int type, void* a,
                           int64_t lda, int, void* w, int, void*, size_t, void*, size_t, int* info,
                           int64_t count) {
    return with_solver_type(type, [&](auto element) {
        using T = decltype(element);
        return syevd(h, mode, fill, n, static_cast<T*>(a), lda, static_cast<Real<T>*>(w), info,
                     count);
    });
}

int cusolverDnXgesvd_bufferSize(SolverHandle h, void*, signed char, signed char, int64_t, int64_t,
                                int, const void*, int64_t, int, const void*, int, const void*,
                                int64_t, int, const void*, int64_t, int, size_t* size,
                                size_t* on_host) {
    give_size(h, on_host);
    return give_size(h, size);
}

int cusolverDnXgesvd(SolverHandle h, void*, signed char job_u, signed char job_vt, int64_t m,
                     int64_t n, int type, void* a, int64_t lda, int, void* s, int, void* u,
                     int64_t ldu, int, void* vt, int64_t ldvt, int, void*, size_t, void*, size_t,
                     int* info) {
    return with_solver_type(type, [&](auto element) {
        using T = decltype(element);
        return gesvd(h, job_u, job_vt, m, n, static_cast<T*>(a), lda, static_cast<Real<T>*>(s),
                     static_cast<T*>(u), ldu, static_cast<T*>(vt), ldvt, info);
    });
}

}  // extern "C"
