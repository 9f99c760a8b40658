// cuBLAS: matrices. See library_blas.cpp.
#include "library_typed.h"

namespace cutune {

namespace {

// ---- a matrix and a vector

template <class T>
int gemv(BlasHandle handle, int operation, int64_t m, int64_t n, const T* alpha, const T* a,
         int64_t lda, const T* x, int64_t incx, const T* beta, T* y, int64_t incy) {
    if (m < 0 || n < 0 || incx == 0 || incy == 0) return kBlasInvalidValue;
    const Scalar<T> factor(handle, alpha), kept(handle, beta);
    return do_blas(handle, [=] {
        const int64_t rows = operation == kPlain ? m : n, columns = operation == kPlain ? n : m;
        const auto matrix = read_operand(a, operation, rows, columns, lda);
        Matrix<Wide<T>> vector(columns, 1);
        vector.values = read_vector(x, columns, incx);
        write_vector_sum(y, incy, factor.get(), product(matrix, vector).values, kept.get());
    });
}

template <class T>
int symv(BlasHandle handle, int fill, int64_t n, const T* alpha, const T* a, int64_t lda,
         const T* x, int64_t incx, const T* beta, T* y, int64_t incy, bool hermitian) {
    const Scalar<T> factor(handle, alpha), kept(handle, beta);
    return do_blas(handle, [=] {
        Matrix<Wide<T>> vector(n, 1);
        vector.values = read_vector(x, n, incx);
        const auto square = read_symmetric(a, fill, n, lda, hermitian);
        write_vector_sum(y, incy, factor.get(), product(square, vector).values, kept.get());
    });
}

template <class T>
int ger(BlasHandle handle, int64_t m, int64_t n, const T* alpha, const T* x, int64_t incx,
        const T* y, int64_t incy, T* a, int64_t lda, bool conjugated) {
    const Scalar<T> factor(handle, alpha);
    return do_blas(handle, [=] {
        const auto rows = read_vector(x, m, incx), columns = read_vector(y, n, incy);
        auto matrix = read_matrix(a, m, n, lda);
        const auto by = factor.get();
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < m; ++i)
                matrix(i, j) += by * rows[i] * (conjugated ? conjugate(columns[j]) : columns[j]);
        write_matrix(a, lda, matrix);
    });
}

template <class T>
int triangular(BlasHandle handle, int fill, int operation, int unit, int64_t n, const T* a,
               int64_t lda, T* x, int64_t incx, bool solves) {
    return do_blas(handle, [=] {
        const auto triangle = read_triangle(a, fill, operation, unit != 0, n, lda);
        Matrix<Wide<T>> vector(n, 1);
        vector.values = read_vector(x, n, incx);
        if (solves)
            solve(triangle, (fill == kUpper) == (operation == kPlain), &vector);
        else
            vector = product(triangle, vector);
        write_vector(x, incx, std::move(vector.values));
    });
}

// ---- products of matrices

template <class T>
int gemm(BlasHandle handle, int of_a, int of_b, int64_t m, int64_t n, int64_t k,
               const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb, const T* beta,
               T* c, int64_t ldc) {
    if (m < 0 || n < 0 || k < 0 || ldc < std::max<int64_t>(1, m)) return kBlasInvalidValue;
    const Scalar<T> factor(handle, alpha), kept(handle, beta);
    return do_blas(handle, [=] {
        const auto left = read_operand(a, of_a, m, k, lda);
        const auto right = read_operand(b, of_b, k, n, ldb);
        write_sum(c, ldc, factor.get(), product(left, right), kept.get());
    });
}

template <class P> bool have_read(const P* from, int64_t count, std::vector<P>* found) {
    return do_on_stream(nullptr, [=] { *found = read_plain(from, count); });
}

template <class T>
int batched_gemm(BlasHandle handle, int of_a, int of_b, int64_t m, int64_t n, int64_t k,
                 const T* alpha, const T* const* a, int64_t lda, const T* const* b, int64_t ldb,
                 const T* beta, T* const* c, int64_t ldc, int64_t count) {
    std::vector<const T*> left, right;
    std::vector<T*> to;
    if (!have_read(a, count, &left) || !have_read(b, count, &right) || !have_read(c, count, &to))
        return kBlasFailed;
    return batch(count, [&](int64_t each) {
        return gemm(handle, of_a, of_b, m, n, k, alpha, left[each], lda, right[each], ldb,
                          beta, to[each], ldc);
    });
}

// ---- products whose types are told by numbers (cudaDataType, cublasComputeType_t)

enum ComputeType { kIn16 = 64, kIn16Pedantic = 65, kIn64 = 70, kIn64Pedantic = 71, kInInt = 72,
                   kInIntPedantic = 73 };

struct Typed {
    BlasHandle handle;
    int of_a, of_b;
    int64_t m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta;
    void* c;
    int type_of_a, type_of_b, type_of_c, compute;
};

int type_of_factors(int compute) {
    switch (compute) {
        case kIn16: case kIn16Pedantic: return kHalf;
        case kIn64: case kIn64Pedantic: return kDouble;
        case kInInt: case kInIntPedantic: return kInt;
        default: return kFloat;
    }
}

template <class T> int complex_gemm(const Typed& t) {
    if (t.type_of_c != t.type_of_a) return kBlasNotSupported;
    return gemm(t.handle, t.of_a, t.of_b, t.m, t.n, t.k, static_cast<const T*>(t.alpha),
                      static_cast<const T*>(t.a), t.lda, static_cast<const T*>(t.b), t.ldb,
                      static_cast<const T*>(t.beta), static_cast<T*>(t.c), t.ldc);
}

int typed_gemm(const Typed& t) {
    const auto nothing = [](auto) {};
    if (t.type_of_a != t.type_of_b) return kBlasNotSupported;
    if (t.type_of_a == kComplex) return complex_gemm<Complex>(t);
    if (t.type_of_a == kDoubleComplex) return complex_gemm<DoubleComplex>(t);
    if (!with_type(t.type_of_a, nothing) || !with_type(t.type_of_c, nothing))
        return kBlasNotSupported;
    if (!t.handle) return kBlasNotInitialized;
    const int type = type_of_factors(t.compute);
    const bool is_on_device = t.handle->pointer_mode != 0;
    const TypedScalar alpha(type, t.alpha, is_on_device), beta(type, t.beta, is_on_device);
    return do_blas(t.handle, [=] {
        const auto sums = product(read_typed(t.type_of_a, t.of_a, t.a, t.m, t.k, t.lda),
                                  read_typed(t.type_of_b, t.of_b, t.b, t.k, t.n, t.ldb));
        with_type(t.type_of_c, [&](auto element) {
            write_sum(static_cast<decltype(element)*>(t.c), t.ldc, alpha.get(), sums, beta.get());
        });
    });
}

int64_t bytes_of(int type) {
    switch (type) {
        case kByte: return 1;
        case kHalf: case kBFloat: return 2;
        case kDouble: case kComplex: return 8;
        case kDoubleComplex: return 16;
        default: return 4;
    }
}

int strided_typed(Typed t, int64_t of_a, int64_t of_b, int64_t of_c, int64_t count) {
    return batch(count, [&](int64_t each) {
        Typed one = t;
        one.a = static_cast<const char*>(t.a) + each * of_a * bytes_of(t.type_of_a);
        one.b = static_cast<const char*>(t.b) + each * of_b * bytes_of(t.type_of_b);
        one.c = static_cast<char*>(t.c) + each * of_c * bytes_of(t.type_of_c);
        return typed_gemm(one);
    });
}

int batched_typed(Typed t, const void* const* a, const void* const* b, void* const* c,
                  int64_t count) {
    std::vector<const void*> left, right;
    std::vector<void*> to;
    if (!have_read(a, count, &left) || !have_read(b, count, &right) || !have_read(c, count, &to))
        return kBlasFailed;
    return batch(count, [&](int64_t each) {
        t.a = left[each];
        t.b = right[each];
        t.c = to[each];
        return typed_gemm(t);
    });
}

// ---- other matrices

template <class T>
int symm(BlasHandle handle, int side, int fill, int64_t m, int64_t n, const T* alpha, const T* a,
         int64_t lda, const T* b, int64_t ldb, const T* beta, T* c, int64_t ldc, bool hermitian) {
    const Scalar<T> factor(handle, alpha), kept(handle, beta);
    return do_blas(handle, [=] {
        const auto square = read_symmetric(a, fill, side == kLeft ? m : n, lda, hermitian);
        const auto other = read_matrix(b, m, n, ldb);
        write_sum(c, ldc, factor.get(),
                  side == kLeft ? product(square, other) : product(other, square), kept.get());
    });
}

// alpha * op(A) op(A)' + beta * C, of which a triangle is written; with B beside A both ways.
template <class T>
int syrk(BlasHandle handle, int fill, int operation, int64_t n, int64_t k, const T* alpha,
         const T* a, int64_t lda, const T* b, int64_t ldb, const T* beta, T* c, int64_t ldc) {
    const Scalar<T> factor(handle, alpha), kept(handle, beta);
    return do_blas(handle, [=] {
        const auto left = read_operand(a, operation, n, k, lda);
        const auto right = b ? read_operand(b, operation, n, k, ldb) : left;
        auto sum = product(left, transposed(right, false));
        if (b) {
            const auto other = transposed(sum, false);
            for (size_t e = 0; e < sum.values.size(); ++e) sum.values[e] += other.values[e];
        }
        write_triangle(c, fill, ldc, factor.get(), sum, kept.get());
    });
}

// B times a triangle, or what times the triangle is B.
template <class T>
int by_triangle(BlasHandle handle, int side, int fill, int operation, int unit, int64_t m,
                int64_t n, const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                int64_t ldc, bool solves) {
    const Scalar<T> factor(handle, alpha);
    return do_blas(handle, [=] {
        auto triangle = read_triangle(a, fill, operation, unit != 0, side == kLeft ? m : n, lda);
        auto other = read_matrix(b, m, n, ldb);
        bool is_upper = (fill == kUpper) == (operation == kPlain);
        if (side == kRight) {
            triangle = transposed(triangle, false);
            other = transposed(other, false);
            is_upper = !is_upper;
        }
        if (solves)
            solve(triangle, is_upper, &other);
        else
            other = product(triangle, other);
        write_sum(c, ldc, factor.get(), side == kRight ? transposed(other, false) : other,
                  Wide<T>());
    });
}

template <class T>
int batched_trsm(BlasHandle handle, int side, int fill, int operation, int unit, int64_t m,
                 int64_t n, const T* alpha, const T* const* a, int64_t lda, T* const* b,
                 int64_t ldb, int64_t count) {
    std::vector<const T*> triangles;
    std::vector<T*> to;
    if (!have_read(a, count, &triangles) || !have_read(b, count, &to)) return kBlasFailed;
    return batch(count, [&](int64_t each) {
        return by_triangle<T>(handle, side, fill, operation, unit, m, n, alpha, triangles[each], lda,
                              to[each], ldb, to[each], ldb, true);
    });
}

template <class T>
int geam(BlasHandle handle, int of_a, int of_b, int64_t m, int64_t n, const T* alpha, const T* a,
         int64_t lda, const T* beta, const T* b, int64_t ldb, T* c, int64_t ldc) {
    const Scalar<T> first(handle, alpha), second(handle, beta);
    return do_blas(handle, [=] {
        const auto by = first.get(), other = second.get(), none = Wide<T>();
        Matrix<Wide<T>> sum(m, n);
        for (const auto& [factor, from, operation, leading] :
             {std::tuple(by, a, of_a, lda), std::tuple(other, b, of_b, ldb)}) {
            if (factor == none) continue;
            const auto term = read_operand(from, operation, m, n, leading);
            for (size_t k = 0; k < sum.values.size(); ++k) sum.values[k] += factor * term.values[k];
        }
        write_matrix(c, ldc, sum);
    });
}

template <class T>
int dgmm(BlasHandle handle, int side, int64_t m, int64_t n, const T* a, int64_t lda, const T* x,
         int64_t incx, T* c, int64_t ldc) {
    return do_blas(handle, [=] {
        auto matrix = read_matrix(a, m, n, lda);
        const auto diagonal = read_vector(x, side == kLeft ? m : n, incx);
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < m; ++i) matrix(i, j) *= diagonal[side == kLeft ? i : j];
        write_matrix(c, ldc, matrix);
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

#define CUTUNE_MATRICES(I, END, L, T)                                                              \
    int cublas##L##gemv_v2##END(BlasHandle h, int op, I m, I n, const T* alpha, const T* a, I lda, \
                                const T* x, I incx, const T* beta, T* y, I incy) {                 \
        return gemv(h, op, m, n, alpha, a, lda, x, incx, beta, y, incy);                           \
    }                                                                                              \
    int cublas##L##symv_v2##END(BlasHandle h, int fill, I n, const T* alpha, const T* a, I lda,    \
                                const T* x, I incx, const T* beta, T* y, I incy) {                 \
        return symv(h, fill, n, alpha, a, lda, x, incx, beta, y, incy, false);                     \
    }                                                                                              \
    int cublas##L##trsv_v2##END(BlasHandle h, int fill, int op, int unit, I n, const T* a, I lda,  \
                                T* x, I incx) {                                                    \
        return triangular(h, fill, op, unit, n, a, lda, x, incx, true);                            \
    }                                                                                              \
    int cublas##L##trmv_v2##END(BlasHandle h, int fill, int op, int unit, I n, const T* a, I lda,  \
                                T* x, I incx) {                                                    \
        return triangular(h, fill, op, unit, n, a, lda, x, incx, false);                           \
    }                                                                                              \
    int cublas##L##gemm_v2##END(BlasHandle h, int of_a, int of_b, I m, I n, I k, const T* alpha,   \
                                const T* a, I lda, const T* b, I ldb, const T* beta, T* c,         \
                                I ldc) {                                                           \
        return gemm(h, of_a, of_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);            \
    }                                                                                              \
    int cublas##L##gemmStridedBatched##END(                                                        \
        BlasHandle h, int of_a, int of_b, I m, I n, I k, const T* alpha, const T* a, I lda,        \
        long long by_a, const T* b, I ldb, long long by_b, const T* beta, T* c, I ldc,             \
        long long by_c, I count) {                                                                 \
        return batch(count, [&](int64_t e) {                                                       \
            return gemm(h, of_a, of_b, m, n, k, alpha, a + e * by_a, lda, b + e * by_b, ldb, \
                              beta, c + e * by_c, ldc);                                            \
        });                                                                                        \
    }                                                                                              \
    int cublas##L##gemmBatched##END(BlasHandle h, int of_a, int of_b, I m, I n, I k,               \
                                    const T* alpha, const T* const* a, I lda, const T* const* b,   \
                                    I ldb, const T* beta, T* const* c, I ldc, I count) {           \
        return batched_gemm(h, of_a, of_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);   \
    }                                                                                              \
    int cublas##L##symm_v2##END(BlasHandle h, int side, int fill, I m, I n, const T* alpha,        \
                                const T* a, I lda, const T* b, I ldb, const T* beta, T* c,         \
                                I ldc) {                                                           \
        return symm(h, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc, false);              \
    }                                                                                              \
    int cublas##L##syrk_v2##END(BlasHandle h, int fill, int op, I n, I k, const T* alpha,          \
                                const T* a, I lda, const T* beta, T* c, I ldc) {                   \
        return syrk<T>(h, fill, op, n, k, alpha, a, lda, nullptr, 0, beta, c, ldc);                \
    }                                                                                              \
    int cublas##L##syr2k_v2##END(BlasHandle h, int fill, int op, I n, I k, const T* alpha,         \
                                 const T* a, I lda, const T* b, I ldb, const T* beta, T* c,        \
                                 I ldc) {                                                          \
        return syrk(h, fill, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                       \
    }                                                                                              \
    int cublas##L##trmm_v2##END(BlasHandle h, int side, int fill, int op, int unit, I m, I n,      \
                                const T* alpha, const T* a, I lda, const T* b, I ldb, T* c,        \
                                I ldc) {                                                           \
        return by_triangle(h, side, fill, op, unit, m, n, alpha, a, lda, b, ldb, c, ldc, false);   \
    }                                                                                              \
    int cublas##L##trsm_v2##END(BlasHandle h, int side, int fill, int op, int unit, I m, I n,      \
                                const T* alpha, const T* a, I lda, T* b, I ldb) {                  \
        return by_triangle<T>(h, side, fill, op, unit, m, n, alpha, a, lda, b, ldb, b, ldb, true); \
    }                                                                                              \
    int cublas##L##trsmBatched##END(BlasHandle h, int side, int fill, int op, int unit, I m, I n,  \
                                    const T* alpha, const T* const* a, I lda, T* const* b, I ldb,  \
                                    I count) {                                                     \
        return batched_trsm(h, side, fill, op, unit, m, n, alpha, a, lda, b, ldb, count);          \
    }                                                                                              \
    int cublas##L##geam##END(BlasHandle h, int of_a, int of_b, I m, I n, const T* alpha,           \
                             const T* a, I lda, const T* beta, const T* b, I ldb, T* c, I ldc) {   \
        return geam(h, of_a, of_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                     \
    }                                                                                              \
    int cublas##L##dgmm##END(BlasHandle h, int side, I m, I n, const T* a, I lda, const T* x,      \
                             I incx, T* c, I ldc) {                                                \
        return dgmm(h, side, m, n, a, lda, x, incx, c, ldc);                                       \
    }
CUTUNE_EVERY(CUTUNE_MATRICES)

#define CUTUNE_REAL_MATRICES(I, END, L, T)                                                         \
    int cublas##L##ger_v2##END(BlasHandle h, I m, I n, const T* alpha, const T* x, I incx,         \
                               const T* y, I incy, T* a, I lda) {                                  \
        return ger(h, m, n, alpha, x, incx, y, incy, a, lda, false);                               \
    }                                                                                              \
    int cublas##L##gemvStridedBatched##END(                                                        \
        BlasHandle h, int op, I m, I n, const T* alpha, const T* a, I lda, long long by_a,         \
        const T* x, I incx, long long by_x, const T* beta, T* y, I incy, long long by_y,           \
        I count) {                                                                                 \
        return batch(count, [&](int64_t e) {                                                       \
            return gemv(h, op, m, n, alpha, a + e * by_a, lda, x + e * by_x, incx, beta,           \
                        y + e * by_y, incy);                                                       \
        });                                                                                        \
    }
CUTUNE_REAL(CUTUNE_REAL_MATRICES)

#define CUTUNE_COMPLEX_MATRICES(I, END, L, T)                                                      \
    int cublas##L##geru_v2##END(BlasHandle h, I m, I n, const T* alpha, const T* x, I incx,        \
                                const T* y, I incy, T* a, I lda) {                                 \
        return ger(h, m, n, alpha, x, incx, y, incy, a, lda, false);                               \
    }                                                                                              \
    int cublas##L##gerc_v2##END(BlasHandle h, I m, I n, const T* alpha, const T* x, I incx,        \
                                const T* y, I incy, T* a, I lda) {                                 \
        return ger(h, m, n, alpha, x, incx, y, incy, a, lda, true);                                \
    }                                                                                              \
    int cublas##L##hemv_v2##END(BlasHandle h, int fill, I n, const T* alpha, const T* a, I lda,    \
                                const T* x, I incx, const T* beta, T* y, I incy) {                 \
        return symv(h, fill, n, alpha, a, lda, x, incx, beta, y, incy, true);                      \
    }                                                                                              \
    int cublas##L##hemm_v2##END(BlasHandle h, int side, int fill, I m, I n, const T* alpha,        \
                                const T* a, I lda, const T* b, I ldb, const T* beta, T* c,         \
                                I ldc) {                                                           \
        return symm(h, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc, true);               \
    }
CUTUNE_COMPLEX(CUTUNE_COMPLEX_MATRICES)

#define CUTUNE_TYPED(I, END)                                                                       \
    int cublasHgemm##END(BlasHandle h, int of_a, int of_b, I m, I n, I k, const void* alpha,       \
                         const void* a, I lda, const void* b, I ldb, const void* beta, void* c,    \
                         I ldc) {                                                                  \
        return typed_gemm({h, of_a, of_b, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c, kHalf,     \
                           kHalf, kHalf, kIn16});                                                  \
    }                                                                                              \
    int cublasHgemmStridedBatched##END(                                                            \
        BlasHandle h, int of_a, int of_b, I m, I n, I k, const void* alpha, const void* a, I lda,  \
        long long by_a, const void* b, I ldb, long long by_b, const void* beta, void* c, I ldc,    \
        long long by_c, I count) {                                                                 \
        return strided_typed({h, of_a, of_b, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c, kHalf,  \
                              kHalf, kHalf, kIn16},                                                \
                             by_a, by_b, by_c, count);                                             \
    }                                                                                              \
    int cublasSgemmEx##END(BlasHandle h, int of_a, int of_b, I m, I n, I k, const float* alpha,    \
                           const void* a, int type_a, I lda, const void* b, int type_b, I ldb,     \
                           const float* beta, void* c, int type_c, I ldc) {                        \
        return typed_gemm({h, of_a, of_b, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c, type_a,    \
                           type_b, type_c, 68});                                                   \
    }                                                                                              \
    int cublasGemmEx##END(BlasHandle h, int of_a, int of_b, I m, I n, I k, const void* alpha,      \
                          const void* a, int type_a, I lda, const void* b, int type_b, I ldb,      \
                          const void* beta, void* c, int type_c, I ldc, int compute, int) {        \
        return typed_gemm({h, of_a, of_b, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c, type_a,    \
                           type_b, type_c, compute});                                              \
    }                                                                                              \
    int cublasGemmStridedBatchedEx##END(                                                           \
        BlasHandle h, int of_a, int of_b, I m, I n, I k, const void* alpha, const void* a,         \
        int type_a, I lda, long long by_a, const void* b, int type_b, I ldb, long long by_b,       \
        const void* beta, void* c, int type_c, I ldc, long long by_c, I count, int compute, int) { \
        return strided_typed({h, of_a, of_b, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c, type_a, \
                              type_b, type_c, compute},                                            \
                             by_a, by_b, by_c, count);                                             \
    }                                                                                              \
    int cublasGemmBatchedEx##END(BlasHandle h, int of_a, int of_b, I m, I n, I k,                  \
                                 const void* alpha, const void* const* a, int type_a, I lda,       \
                                 const void* const* b, int type_b, I ldb, const void* beta,        \
                                 void* const* c, int type_c, I ldc, I count, int compute, int) {   \
        return batched_typed({h, of_a, of_b, m, n, k, lda, ldb, ldc, alpha, nullptr, nullptr,      \
                              beta, nullptr, type_a, type_b, type_c, compute},                     \
                             a, b, c, count);                                                      \
    }
CUTUNE_WIDTHS(CUTUNE_TYPED)

}  // extern "C"
