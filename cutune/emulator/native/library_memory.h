// What replacements of NVIDIA's libraries read and write on the device. They compute on the host,
// in double precision, and are done when the call returns, or when the graph that captured it runs.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <new>
#include <vector>

#include "machine_half.h"
#include "runtime_copy.h"
#include "runtime_streams.h"

namespace cutune {

// What a sum of these elements is formed in.
template <class T> struct WideOf { using type = double; };
template <class T> struct WideOf<std::complex<T>> { using type = std::complex<double>; };
template <class T> using Wide = typename WideOf<T>::type;

// A number of 16 bits, as an element.
template <class Encoding> struct ShortNumber {
    u16 bits;
    ShortNumber() = default;
    explicit ShortNumber(double value) : bits(Encoding::narrowed(value)) {}
    explicit operator double() const { return Encoding::widened(bits); }
};

// Thrown where memory cannot be read or written; ends the work of one call.
struct LibraryFailure {};

// Rows of elements, `pitch` bytes apart.
inline void copy_rows(const void* to, size_t to_pitch, const void* from, size_t from_pitch,
                      size_t width, size_t rows, cudaMemcpyKind kind) {
    if (copy(place(to, to_pitch), place(from, from_pitch), {width, rows, 1}, kind) != cudaSuccess)
        throw LibraryFailure();
}

// A matrix on the host, column after column.
template <class W> struct Matrix {
    int64_t rows = 0, columns = 0;
    std::vector<W> values;
    Matrix() = default;
    Matrix(int64_t rows_, int64_t columns_)
        : rows(rows_), columns(columns_), values(static_cast<size_t>(rows_ * columns_)) {}
    W* column(int64_t j) { return values.data() + j * rows; }
    const W* column(int64_t j) const { return values.data() + j * rows; }
    W& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(j * rows + i)]; }
    const W& operator()(int64_t i, int64_t j) const {
        return values[static_cast<size_t>(j * rows + i)];
    }
};

// A matrix on the device whose columns are `leading` elements apart.
template <class T>
Matrix<Wide<T>> read_matrix(const T* from, int64_t rows, int64_t columns, int64_t leading) {
    Matrix<Wide<T>> found(rows, columns);
    if (found.values.empty()) return found;
    std::vector<T> raw(found.values.size());
    const size_t width = static_cast<size_t>(rows) * sizeof(T);
    copy_rows(raw.data(), width, from, static_cast<size_t>(leading) * sizeof(T), width,
              static_cast<size_t>(columns), cudaMemcpyDeviceToHost);
    for (size_t k = 0; k < raw.size(); ++k) found.values[k] = Wide<T>(raw[k]);
    return found;
}

template <class T> void write_matrix(T* to, int64_t leading, const Matrix<Wide<T>>& values) {
    if (values.values.empty()) return;
    std::vector<T> raw(values.values.size());
    for (size_t k = 0; k < raw.size(); ++k) raw[k] = T(values.values[k]);
    const size_t width = static_cast<size_t>(values.rows) * sizeof(T);
    copy_rows(to, static_cast<size_t>(leading) * sizeof(T), raw.data(), width, width,
              static_cast<size_t>(values.columns), cudaMemcpyHostToDevice);
}

// A vector whose elements are `step` apart; with a negative step the first one is last in memory.
template <class T> std::vector<Wide<T>> read_vector(const T* from, int64_t count, int64_t step) {
    if (count <= 0) return {};
    if (step == 0)
        return std::vector<Wide<T>>(static_cast<size_t>(count), read_matrix(from, 1, 1, 1)(0, 0));
    if (step > 0) return read_matrix(from, 1, count, step).values;
    const auto reversed = read_matrix(from, 1, count, -step).values;
    return {reversed.rbegin(), reversed.rend()};
}

template <class T> void write_vector(T* to, int64_t step, std::vector<Wide<T>> values) {
    if (values.empty()) return;
    if (step < 0) std::reverse(values.begin(), values.end());
    Matrix<Wide<T>> row(1, static_cast<int64_t>(values.size()));
    row.values = std::move(values);
    write_matrix(to, step < 0 ? -step : step, row);
}

// Values that lie on the device as they are: pointers, integers.
template <class P> std::vector<P> read_plain(const P* from, int64_t count) {
    std::vector<P> found(static_cast<size_t>(std::max<int64_t>(0, count)));
    const size_t bytes = found.size() * sizeof(P);
    if (bytes) copy_rows(found.data(), bytes, from, bytes, bytes, 1, cudaMemcpyDeviceToHost);
    return found;
}

template <class P> void write_plain(P* to, const std::vector<P>& values) {
    const size_t bytes = values.size() * sizeof(P);
    if (bytes && to) copy_rows(to, bytes, values.data(), bytes, bytes, 1, cudaMemcpyHostToDevice);
}

// Do the work of a call, or keep it for the graph that the stream is capturing.
template <class Work> bool do_on_stream(cudaStream_t stream, Work work) {
    return submit(stream, [work]() -> cudaError_t {
               try {
                   work();
               } catch (const LibraryFailure&) {
                   return cudaErrorInvalidValue;
               } catch (const std::bad_alloc&) {
                   return cudaErrorMemoryAllocation;
               }
               return cudaSuccess;
           }) == cudaSuccess;
}

}  // namespace cutune
