// The replacement of cuBLAS: its handle, scalars and operands. Numbers stand for NVIDIA's
// enumerators, since its headers are there only where its library is.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

#include "library_memory.h"
#include "runtime.h"

struct cublasContext {
    cudaStream_t stream = nullptr;
    int pointer_mode = 0;  // 1: scalars lie on the device
    int math_mode = 0, atomics_mode = 0, processors = 0;
};

namespace cutune {

using BlasHandle = cublasContext*;
using Complex = std::complex<float>;
using DoubleComplex = std::complex<double>;

enum BlasStatus {
    kBlasSuccess = 0,
    kBlasNotInitialized = 1,
    kBlasInvalidValue = 7,
    kBlasFailed = 13,
    kBlasNotSupported = 15,
};
enum Operation { kPlain = 0, kTransposed = 1, kConjugated = 2 };
enum Fill { kLower = 0, kUpper = 1 };
enum Side { kLeft = 0, kRight = 1 };

// Functions that exist for int and for int64_t (with _64 at the end), and by the letter of a type.
#define CUTUNE_REAL(F)                                                                             \
    F(int, , S, float) F(int, , D, double) F(int64_t, _64, S, float) F(int64_t, _64, D, double)
#define CUTUNE_COMPLEX(F)                                                                          \
    F(int, , C, Complex) F(int, , Z, DoubleComplex)                                                \
    F(int64_t, _64, C, Complex) F(int64_t, _64, Z, DoubleComplex)
#define CUTUNE_EVERY(F) CUTUNE_REAL(F) CUTUNE_COMPLEX(F)
#define CUTUNE_WIDTHS(F) F(int, ) F(int64_t, _64)

extern "C" {
int cublasCreate_v2(BlasHandle* handle);
int cublasDestroy_v2(BlasHandle handle);
}

inline double conjugate(double value) { return value; }
inline DoubleComplex conjugate(const DoubleComplex& value) { return std::conj(value); }
inline double squared(double value) { return value * value; }
inline double squared(const DoubleComplex& value) { return std::norm(value); }
inline double magnitude(double value) { return std::fabs(value); }
// What BLAS takes for the size of a complex number.
inline double magnitude(const DoubleComplex& value) {
    return std::fabs(value.real()) + std::fabs(value.imag());
}

template <class T> struct RealOf { using type = T; };
template <class T> struct RealOf<std::complex<T>> { using type = T; };
template <class T> using Real = typename RealOf<T>::type;

// A factor: of the host as it is at the call, of the device as it is when the work is done.
template <class T> struct Scalar {
    const T* on_device;
    Wide<T> value;
    Scalar(BlasHandle handle, const T* pointer)
        : on_device(handle && handle->pointer_mode ? pointer : nullptr),
          value(pointer && !on_device ? Wide<T>(*pointer) : Wide<T>()) {}
    Wide<T> get() const { return on_device ? read_vector(on_device, 1, 1)[0] : value; }
};

// Gives a result to the host or to the device.
template <class T> void give(BlasHandle handle, T* to, Wide<T> value) {
    if (handle->pointer_mode)
        write_vector(to, 1, {value});
    else
        *to = T(value);
}

// Calls `one` with the number of each of a batch, until one fails.
template <class One> int batch(int64_t count, One one) {
    int status = count < 0 ? kBlasInvalidValue : kBlasSuccess;
    for (int64_t k = 0; k < count && status == kBlasSuccess; ++k) status = one(k);
    return status;
}

template <class Work> int do_blas(BlasHandle handle, Work work) {
    if (!handle) return kBlasNotInitialized;
    return do_on_stream(handle->stream, work) ? kBlasSuccess : kBlasFailed;
}

template <class W> Matrix<W> transposed(const Matrix<W>& from, bool conjugated) {
    Matrix<W> found(from.columns, from.rows);
    for (int64_t j = 0; j < from.columns; ++j)
        for (int64_t i = 0; i < from.rows; ++i)
            found(j, i) = conjugated ? conjugate(from(i, j)) : from(i, j);
    return found;
}

// op(A), of so many rows and columns.
template <class T>
Matrix<Wide<T>> read_operand(const T* from, int operation, int64_t rows, int64_t columns,
                             int64_t leading) {
    if (operation == kPlain) return read_matrix(from, rows, columns, leading);
    return transposed(read_matrix(from, columns, rows, leading), operation == kConjugated);
}

template <class W> Matrix<W> product(const Matrix<W>& a, const Matrix<W>& b) {
    Matrix<W> sum(a.rows, b.columns);
    for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t p = 0; p < a.columns; ++p) {
            const W factor = b(p, j);
            const W* const from = a.column(p);
            W* const to = sum.column(j);
            for (int64_t i = 0; i < a.rows; ++i) to[i] += from[i] * factor;
        }
    return sum;
}

// to = alpha * values + beta * to, of which nothing is read where beta is 0.
template <class T>
void write_sum(T* to, int64_t leading, Wide<T> alpha, Matrix<Wide<T>> values, Wide<T> beta) {
    for (auto& value : values.values) value *= alpha;
    if (beta != Wide<T>()) {
        const auto before = read_matrix(to, values.rows, values.columns, leading);
        for (size_t k = 0; k < before.values.size(); ++k)
            values.values[k] += beta * before.values[k];
    }
    write_matrix(to, leading, values);
}

// The same of a vector.
template <class T>
void write_vector_sum(T* to, int64_t step, Wide<T> alpha, std::vector<Wide<T>> values,
                      Wide<T> beta) {
    for (auto& value : values) value *= alpha;
    if (beta != Wide<T>()) {
        const auto before = read_vector(to, static_cast<int64_t>(values.size()), step);
        for (size_t k = 0; k < before.size(); ++k) values[k] += beta * before[k];
    }
    write_vector(to, step, std::move(values));
}

// A square matrix of which one triangle is kept. The diagonal of a hermitian one is taken for real.
template <class T>
Matrix<Wide<T>> read_symmetric(const T* from, int fill, int64_t n, int64_t leading,
                               bool hermitian) {
    auto found = read_matrix(from, n, n, leading);
    for (int64_t j = 0; j < n; ++j) {
        if (hermitian) found(j, j) = std::real(found(j, j));
        for (int64_t i = 0; i < j; ++i)
            if (fill == kUpper)
                found(j, i) = hermitian ? conjugate(found(i, j)) : found(i, j);
            else
                found(i, j) = hermitian ? conjugate(found(j, i)) : found(j, i);
    }
    return found;
}

// op of a triangle; zeros beside it.
template <class T>
Matrix<Wide<T>> read_triangle(const T* from, int fill, int operation, bool has_ones, int64_t n,
                              int64_t leading) {
    auto found = read_matrix(from, n, n, leading);
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
            if (i == j && has_ones)
                found(i, j) = 1;
            else if (fill == kUpper ? i > j : i < j)
                found(i, j) = 0;
    return operation == kPlain ? found : transposed(found, operation == kConjugated);
}

// Writes a triangle of the sum, as `write_sum` does.
template <class T>
void write_triangle(T* to, int fill, int64_t leading, Wide<T> alpha, const Matrix<Wide<T>>& values,
                    Wide<T> beta) {
    for (int64_t j = 0; j < values.columns; ++j) {
        const int64_t first = fill == kUpper ? 0 : j, end = fill == kUpper ? j + 1 : values.rows;
        Matrix<Wide<T>> part(end - first, 1);
        std::copy(values.column(j) + first, values.column(j) + end, part.values.begin());
        write_sum(to + j * leading + first, leading, alpha, std::move(part), beta);
    }
}

// x with triangle * x = b, column by column.
template <class W> void solve(const Matrix<W>& triangle, bool is_upper, Matrix<W>* b) {
    const int64_t n = triangle.rows;
    for (int64_t j = 0; j < b->columns; ++j) {
        W* const x = b->column(j);
        for (int64_t step = 0; step < n; ++step) {
            const int64_t k = is_upper ? n - 1 - step : step;
            x[k] /= triangle(k, k);
            for (int64_t i = is_upper ? 0 : k + 1; i < (is_upper ? k : n); ++i)
                x[i] -= triangle(i, k) * x[k];
        }
    }
}

}  // namespace cutune
