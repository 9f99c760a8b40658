// The replacement of cuSPARSE: its handle, what describes matrices, and their elements on the host.
// Workspaces are not used: each has one byte.
#pragma once
#include <algorithm>
#include <numeric>
#include <tuple>

#include "library_typed.h"

struct cusparseContext {
    cudaStream_t stream = nullptr;
    int pointer_mode = 0;  // 1: scalars lie on the device
};

// What older functions are told of a matrix.
struct cusparseMatDescr {
    int type = 0, fill = 0, diagonal = 0, base = 0;
};

namespace cutune {

using SparseHandle = cusparseContext*;

enum SparseStatus {
    kSparseSuccess = 0,
    kSparseNotInitialized = 1,
    kSparseInvalidValue = 3,
    kSparseFailed = 6,
    kSparseNotSupported = 10,
};
enum SparseFormat { kRows = 1, kColumns = 2, kCoordinates = 3 };
enum SparseOrder { kByColumn = 1, kByRow = 2 };
enum IndexType { kInts = 2, kLongs = 3 };

// `rows_at`: offsets of the rows, or the row of each value; likewise columns.
struct SparseMatrix {
    int format;
    int64_t rows, columns, count;
    void *rows_at, *columns_at, *values;
    int rows_type, columns_type, base, type;
};

struct DenseVector {
    int64_t size;
    void* values;
    int type;
};

struct SparseVector {
    int64_t size, count;
    void *places, *values;
    int places_type, base, type;
};

struct DenseMatrix {
    int64_t rows, columns, leading;
    void* values;
    int type, order;
};

template <class Use> int with_sparse_type(int type, Use use) {
    return with_field(type, kSparseNotSupported, use);
}

template <class Work> int do_sparse(SparseHandle handle, Work work) {
    if (!handle) return kSparseNotInitialized;
    return do_on_stream(handle->stream, work) ? kSparseSuccess : kSparseFailed;
}

// ---- indices

using Indices = std::vector<int64_t>;

inline Indices read_indices(const void* from, int type, int64_t count, int64_t base) {
    Indices found;
    if (type == kLongs) {
        found = read_plain(static_cast<const int64_t*>(from), count);
    } else {
        const auto narrow = read_plain(static_cast<const int*>(from), count);
        found.assign(narrow.begin(), narrow.end());
    }
    for (int64_t& one : found) one -= base;
    return found;
}

inline void write_indices(void* to, int type, Indices values, int64_t base) {
    for (int64_t& one : values) one += base;
    if (type == kLongs)
        write_plain(static_cast<int64_t*>(to), values);
    else
        write_plain(static_cast<int*>(to), std::vector<int>(values.begin(), values.end()));
}

// The line of each value, by where lines begin.
inline Indices lines_of(const Indices& offsets) {
    Indices found;
    for (size_t line = 0; line + 1 < offsets.size(); ++line)
        for (int64_t k = offsets[line]; k < offsets[line + 1]; ++k)
            found.push_back(static_cast<int64_t>(line));
    return found;
}

// Where lines begin, by the line of each value.
inline Indices offsets_of(const Indices& lines, int64_t count) {
    Indices found(static_cast<size_t>(count + 1));
    for (const int64_t line : lines)
        if (line >= 0 && line < count) ++found[static_cast<size_t>(line + 1)];
    std::partial_sum(found.begin(), found.end(), found.begin());
    return found;
}

// The places of values, sorted by the first, then by the other.
inline Indices sorted_by(const Indices& first, const Indices& other) {
    Indices places(first.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
        const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
        return std::tie(first[i], other[i]) < std::tie(first[j], other[j]);
    });
    return places;
}

template <class V> std::vector<V> taken(const std::vector<V>& from, const Indices& places) {
    std::vector<V> found;
    for (const int64_t place : places) found.push_back(from[static_cast<size_t>(place)]);
    return found;
}

// ---- matrices on the host

// The row, the column and the value of each element.
template <class W> struct Elements {
    Indices rows, columns;
    std::vector<W> values;
};

template <class T> Elements<Wide<T>> read_elements(const SparseMatrix& a) {
    const auto places = [&](const void* from, int type, bool are_offsets, int64_t lines) {
        const auto read = read_indices(from, type, are_offsets ? lines + 1 : a.count, a.base);
        return are_offsets ? lines_of(read) : read;
    };
    Elements<Wide<T>> found;
    found.rows = places(a.rows_at, a.rows_type, a.format == kRows, a.rows);
    found.columns = places(a.columns_at, a.columns_type, a.format == kColumns, a.columns);
    found.values = read_vector(static_cast<const T*>(a.values), a.count, 1);
    const auto count = static_cast<size_t>(a.count);
    const auto is_within = [](const Indices& all, int64_t end) {
        return std::all_of(all.begin(), all.end(), [=](int64_t i) { return i >= 0 && i < end; });
    };
    if (found.rows.size() != count || found.columns.size() != count ||
        !is_within(found.rows, a.rows) || !is_within(found.columns, a.columns))
        throw LibraryFailure();
    return found;
}

template <class T> Matrix<Wide<T>> read_dense(const DenseMatrix& from) {
    const auto* const values = static_cast<const T*>(from.values);
    if (from.order == kByColumn) return read_matrix(values, from.rows, from.columns, from.leading);
    return transposed(read_matrix(values, from.columns, from.rows, from.leading), false);
}

template <class T> void write_dense(const DenseMatrix& to, const Matrix<Wide<T>>& values) {
    auto* const at = static_cast<T*>(to.values);
    if (to.order == kByColumn)
        write_matrix(at, to.leading, values);
    else
        write_matrix(at, to.leading, transposed(values, false));
}

}  // namespace cutune
