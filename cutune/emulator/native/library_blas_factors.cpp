// cuBLAS: factors of many small matrices, and triangles of many. See library_blas.cpp.
#include "library_factors.h"

namespace cutune {

namespace {

// Many matrices by pointers that lie on the device.
template <class T, class One>
int each_matrix(BlasHandle handle, int64_t n, int64_t lda, T* const* matrices, int64_t count,
                One one) {
    if (handle && (n < 0 || count < 0 || lda < std::max<int64_t>(1, n))) return kBlasInvalidValue;
    return do_blas(handle, [=] {
        const auto all = read_plain(matrices, count);
        for (size_t k = 0; k < all.size(); ++k) one(k, all[k]);
    });
}

// Without pivots rows are not swapped.
template <class T>
int getrf_batched(BlasHandle handle, int64_t n, T* const* a, int64_t lda, int* pivots, int* info,
                  int64_t count) {
    return each_matrix(handle, n, lda, a, count, [=](size_t k, T* one) {
        auto matrix = read_matrix(one, n, n, lda);
        std::vector<int> found;
        const int singular = factor_lu(&matrix, &found, pivots != nullptr);
        write_matrix(one, lda, matrix);
        if (pivots) write_plain(pivots + k * static_cast<size_t>(n), found);
        write_plain(info + k, {singular});
    });
}

template <class T>
std::vector<int> read_pivots(const T* pivots, size_t k, int64_t n) {
    return pivots ? read_plain(pivots + k * static_cast<size_t>(n), n) : std::vector<int>();
}

template <class T>
int getri_batched(BlasHandle handle, int64_t n, const T* const* a, int64_t lda, const int* pivots,
                  T* const* c, int64_t ldc, int* info, int64_t count) {
    return each_matrix(handle, n, lda, a, count, [=](size_t k, const T* one) {
        const auto factors = read_matrix(one, n, n, lda);
        auto inverse = identity<Wide<T>>(n, n);
        int singular = 0;
        for (int64_t i = n; i > 0; --i)
            if (factors(i - 1, i - 1) == Wide<T>()) singular = static_cast<int>(i);
        if (!singular) {
            solve_lu(factors, read_pivots(pivots, k, n), kPlain, &inverse);
            write_matrix(read_plain(c + k, 1)[0], ldc, inverse);
        }
        write_plain(info + k, {singular});
    });
}

template <class T>
int matinv_batched(BlasHandle handle, int64_t n, const T* const* a, int64_t lda, T* const* c,
                   int64_t ldc, int* info, int64_t count) {
    return each_matrix(handle, n, lda, a, count, [=](size_t k, const T* one) {
        auto factors = read_matrix(one, n, n, lda);
        auto inverse = identity<Wide<T>>(n, n);
        std::vector<int> found;
        const int singular = factor_lu(&factors, &found);
        if (!singular) {
            solve_lu(factors, found, kPlain, &inverse);
            write_matrix(read_plain(c + k, 1)[0], ldc, inverse);
        }
        write_plain(info + k, {singular});
    });
}

template <class T>
int getrs_batched(BlasHandle handle, int operation, int64_t n, int64_t columns, const T* const* a,
                  int64_t lda, const int* pivots, T* const* b, int64_t ldb, int* info,
                  int64_t count) {
    *info = 0;  // of the host: whether the arguments are right
    return each_matrix(handle, n, lda, a, count, [=](size_t k, const T* one) {
        T* const to = read_plain(b + k, 1)[0];
        auto right = read_matrix(to, n, columns, ldb);
        solve_lu(read_matrix(one, n, n, lda), read_pivots(pivots, k, n), operation, &right);
        write_matrix(to, ldb, right);
    });
}

template <class T>
int geqrf_batched(BlasHandle handle, int64_t m, int64_t n, T* const* a, int64_t lda,
                  T* const* taus, int* info, int64_t count) {
    *info = 0;  // of the host, too
    return each_matrix(handle, m, lda, a, count, [=](size_t k, T* one) {
        auto matrix = read_matrix(one, m, n, lda);
        std::vector<Wide<T>> found;
        factor_qr(&matrix, &found);
        write_matrix(one, lda, matrix);
        write_vector(read_plain(taus + k, 1)[0], 1, found);
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

#define CUTUNE_BATCHED_FACTORS(L, T)                                                               \
    int cublas##L##getrfBatched(BlasHandle h, int n, T* const* a, int lda, int* pivots, int* info, \
                                int count) {                                                       \
        return getrf_batched(h, n, a, lda, pivots, info, count);                                   \
    }                                                                                              \
    int cublas##L##getriBatched(BlasHandle h, int n, const T* const* a, int lda,                   \
                                const int* pivots, T* const* c, int ldc, int* info, int count) {   \
        return getri_batched(h, n, a, lda, pivots, c, ldc, info, count);                           \
    }                                                                                              \
    int cublas##L##matinvBatched(BlasHandle h, int n, const T* const* a, int lda, T* const* c,     \
                                 int ldc, int* info, int count) {                                  \
        return n > 32 ? kBlasInvalidValue : matinv_batched(h, n, a, lda, c, ldc, info, count);     \
    }                                                                                              \
    int cublas##L##getrsBatched(BlasHandle h, int op, int n, int columns, const T* const* a,       \
                                int lda, const int* pivots, T* const* b, int ldb, int* info,       \
                                int count) {                                                       \
        return getrs_batched(h, op, n, columns, a, lda, pivots, b, ldb, info, count);              \
    }                                                                                              \
    int cublas##L##geqrfBatched(BlasHandle h, int m, int n, T* const* a, int lda, T* const* taus,  \
                                int* info, int count) {                                            \
        return geqrf_batched(h, m, n, a, lda, taus, info, count);                                  \
    }
CUTUNE_BATCHED_FACTORS(S, float)
CUTUNE_BATCHED_FACTORS(D, double)
CUTUNE_BATCHED_FACTORS(C, Complex)
CUTUNE_BATCHED_FACTORS(Z, DoubleComplex)

}  // extern "C"
