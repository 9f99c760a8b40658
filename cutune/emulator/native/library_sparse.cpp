// cuSPARSE: products of sparse matrices with vectors and dense matrices, and what makes one format of
// another. Sums are formed in double precision, in the order of their terms.
#include "library_sparse.h"

namespace cutune {

namespace {

// C += alpha op(A) B.
template <class W>
void add_product(const Elements<W>& a, int operation, W alpha, const Matrix<W>& b, Matrix<W>* c) {
    for (size_t k = 0; k < a.values.size(); ++k) {
        const int64_t row = operation == kPlain ? a.rows[k] : a.columns[k];
        const int64_t column = operation == kPlain ? a.columns[k] : a.rows[k];
        const W value = alpha * (operation == kConjugated ? conjugate(a.values[k]) : a.values[k]);
        for (int64_t j = 0; j < b.columns; ++j) (*c)(row, j) += value * b(column, j);
    }
}

// A factor: as `Scalar`.
template <class T> struct SparseScalar {
    const T* on_device;
    Wide<T> value;
    SparseScalar(SparseHandle handle, const void* pointer)
        : on_device(handle->pointer_mode ? static_cast<const T*>(pointer) : nullptr),
          value(on_device ? Wide<T>() : Wide<T>(*static_cast<const T*>(pointer))) {}
    Wide<T> get() const { return on_device ? read_vector(on_device, 1, 1)[0] : value; }
};

int sparse_product(SparseHandle handle, int of_a, int of_b, const void* alpha,
                   const SparseMatrix& a, const DenseMatrix& b, const void* beta,
                   const DenseMatrix& c, int compute) {
    const int64_t rows = of_a == kPlain ? a.rows : a.columns;
    const int64_t inner = of_a == kPlain ? a.columns : a.rows;
    const int64_t b_rows = of_b == kPlain ? b.rows : b.columns;
    const int64_t b_columns = of_b == kPlain ? b.columns : b.rows;
    if (rows != c.rows || inner != b_rows || b_columns != c.columns) return kSparseInvalidValue;
    if (a.type != compute || b.type != compute || c.type != compute) return kSparseNotSupported;
    return with_sparse_type(compute, [&](auto element) {
        using T = decltype(element);
        const SparseScalar<T> factor(handle, alpha), kept(handle, beta);
        return do_sparse(handle, [=] {
            auto right = read_dense<T>(b);
            if (of_b != kPlain) right = transposed(right, of_b == kConjugated);
            Matrix<Wide<T>> sums(c.rows, c.columns);
            const auto by = kept.get();
            if (by != Wide<T>()) sums = read_dense<T>(c);  // else nothing of it is read
            for (auto& value : sums.values) value *= by;
            add_product(read_elements<T>(a), of_a, factor.get(), right, &sums);
            write_dense<T>(c, sums);
        });
    });
}

DenseMatrix as_matrix(const DenseVector& x) {
    return {x.size, 1, std::max<int64_t>(1, x.size), x.values, x.type, kByColumn};
}

// Elements of a dense vector to a sparse one, or back.
int move_elements(SparseHandle handle, const SparseVector& x, const DenseVector& y, bool gathers) {
    if (x.size != y.size || x.type != y.type) return kSparseInvalidValue;
    return with_sparse_type(x.type, [&](auto element) {
        using T = decltype(element);
        return do_sparse(handle, [=] {
            auto* const dense = static_cast<T*>(y.values);
            auto* const sparse = static_cast<T*>(x.values);
            const auto places = read_indices(x.places, x.places_type, x.count, x.base);
            for (const int64_t place : places)
                if (place < 0 || place >= x.size) throw LibraryFailure();
            auto all = read_vector(dense, y.size, 1);
            if (gathers) return write_vector(sparse, 1, taken(all, places));
            const auto values = read_vector(sparse, x.count, 1);
            for (size_t k = 0; k < values.size(); ++k) all[static_cast<size_t>(places[k])] = values[k];
            write_vector(dense, 1, std::move(all));
        });
    });
}

// ---- formats

int to_dense(SparseHandle handle, const SparseMatrix& a, const DenseMatrix& b) {
    if (a.rows != b.rows || a.columns != b.columns || a.type != b.type) return kSparseInvalidValue;
    return with_sparse_type(a.type, [&](auto element) {
        using T = decltype(element);
        return do_sparse(handle, [=] {
            const auto elements = read_elements<T>(a);
            Matrix<Wide<T>> dense(a.rows, a.columns);
            for (size_t k = 0; k < elements.values.size(); ++k)
                dense(elements.rows[k], elements.columns[k]) = elements.values[k];
            write_dense<T>(b, dense);
        });
    });
}

// The elements that are not 0, in the order of the format.
template <class W> Elements<W> elements_of(const Matrix<W>& dense, int format) {
    Elements<W> found;
    for (int64_t j = 0; j < dense.columns; ++j)
        for (int64_t i = 0; i < dense.rows; ++i)
            if (dense(i, j) != W()) {
                found.rows.push_back(i);
                found.columns.push_back(j);
                found.values.push_back(dense(i, j));
            }
    if (format == kColumns) return found;
    const Indices places = sorted_by(found.rows, found.columns);
    return {taken(found.rows, places), taken(found.columns, places), taken(found.values, places)};
}

// Counts the elements, and writes where lines begin; `b` gets arrays for the others then.
int count_elements(SparseHandle handle, const DenseMatrix& a, SparseMatrix* b) {
    if (!handle) return kSparseNotInitialized;
    if (a.rows != b->rows || a.columns != b->columns || a.type != b->type)
        return kSparseInvalidValue;
    return with_sparse_type(a.type, [&](auto element) {
        return do_sparse(handle, [=] {
            const auto found = elements_of(read_dense<decltype(element)>(a), b->format);
            b->count = static_cast<int64_t>(found.values.size());
            if (b->format == kRows)
                write_indices(b->rows_at, b->rows_type, offsets_of(found.rows, b->rows), b->base);
            if (b->format == kColumns)
                write_indices(b->columns_at, b->columns_type, offsets_of(found.columns, b->columns),
                              b->base);
        });
    });
}

int from_dense(SparseHandle handle, const DenseMatrix& a, const SparseMatrix& b) {
    return with_sparse_type(a.type, [&](auto element) {
        using T = decltype(element);
        return do_sparse(handle, [=] {
            auto found = elements_of(read_dense<T>(a), b.format);
            if (b.format != kRows) write_indices(b.rows_at, b.rows_type, found.rows, b.base);
            if (b.format != kColumns)
                write_indices(b.columns_at, b.columns_type, found.columns, b.base);
            write_vector(static_cast<T*>(b.values), 1, std::move(found.values));
        });
    });
}

// Rows and columns sorted; `permutation` likewise, if there is one.
int sort_elements(SparseHandle handle, int64_t count, int* rows, int* columns, int* permutation,
                  bool by_columns) {
    return do_sparse(handle, [=] {
        const auto i = read_indices(rows, kInts, count, 0), j = read_indices(columns, kInts, count, 0);
        const Indices places = by_columns ? sorted_by(j, i) : sorted_by(i, j);
        write_indices(rows, kInts, taken(i, places), 0);
        write_indices(columns, kInts, taken(j, places), 0);
        if (permutation) write_plain(permutation, taken(read_plain(permutation, count), places));
    });
}

// The columns of each line sorted.
int sort_lines(SparseHandle handle, int64_t lines, int64_t count, int base, const int* offsets,
               int* indices, int* permutation) {
    return do_sparse(handle, [=] {
        const auto line = lines_of(read_indices(offsets, kInts, lines + 1, base));
        const auto index = read_plain(indices, count);
        if (line.size() != index.size()) throw LibraryFailure();
        const Indices places = sorted_by(line, {index.begin(), index.end()});
        write_plain(indices, taken(index, places));
        if (permutation) write_plain(permutation, taken(read_plain(permutation, count), places));
    });
}

int transpose_rows(SparseHandle handle, const SparseMatrix& a, void* values, int* offsets,
                   int* indices, bool copies_values) {
    return with_sparse_type(a.type, [&](auto element) {
        using T = decltype(element);
        return do_sparse(handle, [=] {
            const auto all = read_elements<T>(a);
            const Indices places = sorted_by(all.columns, all.rows);
            write_indices(offsets, kInts, offsets_of(all.columns, a.columns), a.base);
            write_indices(indices, kInts, taken(all.rows, places), a.base);
            if (copies_values) write_vector(static_cast<T*>(values), 1, taken(all.values, places));
        });
    });
}

int give_size(SparseHandle handle, size_t* size) {
    if (!handle) return kSparseNotInitialized;
    *size = 1;
    return kSparseSuccess;
}

template <class D, class... Fields> int make(D** to, Fields... fields) {
    if (!to) return kSparseInvalidValue;
    *to = new D{fields...};
    return kSparseSuccess;
}

template <class D> int destroy(const D* one) {
    delete one;
    return kSparseSuccess;
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

// ---- handles

int cusparseCreate(SparseHandle* handle) {
    if (cudaFree(nullptr) != cudaSuccess) return kSparseNotInitialized;
    return make(handle);
}

int cusparseDestroy(SparseHandle handle) {
    return handle ? destroy(handle) : kSparseNotInitialized;
}

#define CUTUNE_SETTING(SET, GET, TYPE, FIELD)                                                      \
    int SET(SparseHandle handle, TYPE value) {                                                     \
        if (!handle) return kSparseNotInitialized;                                                 \
        handle->FIELD = value;                                                                     \
        return kSparseSuccess;                                                                     \
    }                                                                                              \
    int GET(SparseHandle handle, TYPE* value) {                                                    \
        if (!handle) return kSparseNotInitialized;                                                 \
        *value = handle->FIELD;                                                                    \
        return kSparseSuccess;                                                                     \
    }
CUTUNE_SETTING(cusparseSetStream, cusparseGetStream, cudaStream_t, stream)
CUTUNE_SETTING(cusparseSetPointerMode, cusparseGetPointerMode, int, pointer_mode)
#undef CUTUNE_SETTING

int cusparseGetVersion(SparseHandle, int* version) {
    *version = 12000;
    return kSparseSuccess;
}

int cusparseGetProperty(int part, int* value) {
    if (part < 0 || part > 2 || !value) return kSparseInvalidValue;
    *value = part == 0 ? 12 : 0;
    return kSparseSuccess;
}

const char* cusparseGetErrorName(int status) {
    switch (status) {
        case kSparseSuccess: return "CUSPARSE_STATUS_SUCCESS";
        case kSparseNotInitialized: return "CUSPARSE_STATUS_NOT_INITIALIZED";
        case kSparseInvalidValue: return "CUSPARSE_STATUS_INVALID_VALUE";
        case kSparseFailed: return "CUSPARSE_STATUS_EXECUTION_FAILED";
        case kSparseNotSupported: return "CUSPARSE_STATUS_NOT_SUPPORTED";
        default: return "unrecognized error code";
    }
}

const char* cusparseGetErrorString(int status) { return cusparseGetErrorName(status); }

// ---- descriptions

int cusparseCreateMatDescr(cusparseMatDescr** to) { return make(to); }
int cusparseDestroyMatDescr(cusparseMatDescr* one) { return destroy(one); }

#define CUTUNE_TOLD(NAME, FIELD)                                                                   \
    int cusparseSetMat##NAME(cusparseMatDescr* one, int value) {                                   \
        one->FIELD = value;                                                                        \
        return kSparseSuccess;                                                                     \
    }                                                                                              \
    int cusparseGetMat##NAME(const cusparseMatDescr* one) { return one->FIELD; }
CUTUNE_TOLD(Type, type)
CUTUNE_TOLD(FillMode, fill)
CUTUNE_TOLD(DiagType, diagonal)
CUTUNE_TOLD(IndexBase, base)

#define CUTUNE_SPARSE_MATRICES(CONST)                                                              \
    int cusparseCreate##CONST##Csr(SparseMatrix** to, int64_t rows, int64_t columns, int64_t n,    \
                                   void* offsets, void* indices, void* values, int of_offsets,     \
                                   int of_indices, int base, int type) {                           \
        return make(to, int{kRows}, rows, columns, n, offsets, indices, values, of_offsets,        \
                    of_indices, base, type);                                                       \
    }                                                                                              \
    int cusparseCreate##CONST##Csc(SparseMatrix** to, int64_t rows, int64_t columns, int64_t n,    \
                                   void* offsets, void* indices, void* values, int of_offsets,     \
                                   int of_indices, int base, int type) {                           \
        return make(to, int{kColumns}, rows, columns, n, indices, offsets, values, of_indices,     \
                    of_offsets, base, type);                                                       \
    }                                                                                              \
    int cusparseCreate##CONST##Coo(SparseMatrix** to, int64_t rows, int64_t columns, int64_t n,    \
                                   void* i, void* j, void* values, int of_indices, int base,       \
                                   int type) {                                                     \
        return make(to, int{kCoordinates}, rows, columns, n, i, j, values, of_indices, of_indices, \
                    base, type);                                                                   \
    }                                                                                              \
    int cusparseCreate##CONST##SpVec(SparseVector** to, int64_t size, int64_t n, void* places,     \
                                     void* values, int of_places, int base, int type) {            \
        return make(to, size, n, places, values, of_places, base, type);                           \
    }                                                                                              \
    int cusparseCreate##CONST##DnVec(DenseVector** to, int64_t size, void* values, int type) {     \
        return make(to, size, values, type);                                                       \
    }                                                                                              \
    int cusparseCreate##CONST##DnMat(DenseMatrix** to, int64_t rows, int64_t columns,              \
                                     int64_t leading, void* values, int type, int order) {         \
        return make(to, rows, columns, leading, values, type, order);                              \
    }
CUTUNE_SPARSE_MATRICES()
CUTUNE_SPARSE_MATRICES(Const)

int cusparseDestroySpMat(const SparseMatrix* one) { return destroy(one); }
int cusparseDestroySpVec(const SparseVector* one) { return destroy(one); }
int cusparseDestroyDnVec(const DenseVector* one) { return destroy(one); }
int cusparseDestroyDnMat(const DenseMatrix* one) { return destroy(one); }

int cusparseSpMatGetSize(const SparseMatrix* one, int64_t* rows, int64_t* columns, int64_t* count) {
    std::tie(*rows, *columns, *count) = std::tie(one->rows, one->columns, one->count);
    return kSparseSuccess;
}

int cusparseCsrSetPointers(SparseMatrix* one, void* offsets, void* indices, void* values) {
    std::tie(one->rows_at, one->columns_at, one->values) = std::tie(offsets, indices, values);
    return kSparseSuccess;
}

int cusparseCscSetPointers(SparseMatrix* one, void* offsets, void* indices, void* values) {
    return cusparseCsrSetPointers(one, indices, offsets, values);
}

int cusparseCooSetPointers(SparseMatrix* one, void* rows, void* columns, void* values) {
    return cusparseCsrSetPointers(one, rows, columns, values);
}

int cusparseSpMatSetValues(SparseMatrix* one, void* values) {
    one->values = values;
    return kSparseSuccess;
}

int cusparseDnVecSetValues(DenseVector* one, void* values) {
    one->values = values;
    return kSparseSuccess;
}

int cusparseDnMatSetValues(DenseMatrix* one, void* values) {
    one->values = values;
    return kSparseSuccess;
}

// ---- products

int cusparseSpMV_bufferSize(SparseHandle handle, int, const void*, const SparseMatrix*,
                            const DenseVector*, const void*, const DenseVector*, int, int,
                            size_t* size) {
    return give_size(handle, size);
}

int cusparseSpMV_preprocess(SparseHandle handle, int, const void*, const SparseMatrix*,
                            const DenseVector*, const void*, const DenseVector*, int, int, void*) {
    return handle ? kSparseSuccess : kSparseNotInitialized;
}

int cusparseSpMV(SparseHandle handle, int operation, const void* alpha, const SparseMatrix* a,
                 const DenseVector* x, const void* beta, const DenseVector* y, int compute, int,
                 void*) {
    if (!handle) return kSparseNotInitialized;
    return sparse_product(handle, operation, kPlain, alpha, *a, as_matrix(*x), beta, as_matrix(*y),
                          compute);
}

int cusparseSpMM_bufferSize(SparseHandle handle, int, int, const void*, const SparseMatrix*,
                            const DenseMatrix*, const void*, const DenseMatrix*, int, int,
                            size_t* size) {
    return give_size(handle, size);
}

int cusparseSpMM_preprocess(SparseHandle handle, int, int, const void*, const SparseMatrix*,
                            const DenseMatrix*, const void*, const DenseMatrix*, int, int, void*) {
    return handle ? kSparseSuccess : kSparseNotInitialized;
}

int cusparseSpMM(SparseHandle handle, int of_a, int of_b, const void* alpha, const SparseMatrix* a,
                 const DenseMatrix* b, const void* beta, const DenseMatrix* c, int compute, int,
                 void*) {
    if (!handle) return kSparseNotInitialized;
    return sparse_product(handle, of_a, of_b, alpha, *a, *b, beta, *c, compute);
}

int cusparseGather(SparseHandle handle, const DenseVector* y, const SparseVector* x) {
    return move_elements(handle, *x, *y, true);
}

int cusparseScatter(SparseHandle handle, const SparseVector* x, const DenseVector* y) {
    return move_elements(handle, *x, *y, false);
}

// ---- formats

int cusparseSparseToDense_bufferSize(SparseHandle handle, const SparseMatrix*, const DenseMatrix*,
                                     int, size_t* size) {
    return give_size(handle, size);
}

int cusparseSparseToDense(SparseHandle handle, const SparseMatrix* a, const DenseMatrix* b, int,
                          void*) {
    return to_dense(handle, *a, *b);
}

int cusparseDenseToSparse_bufferSize(SparseHandle handle, const DenseMatrix*, const SparseMatrix*,
                                     int, size_t* size) {
    return give_size(handle, size);
}

int cusparseDenseToSparse_analysis(SparseHandle handle, const DenseMatrix* a, SparseMatrix* b, int,
                                   void*) {
    return count_elements(handle, *a, b);
}

int cusparseDenseToSparse_convert(SparseHandle handle, const DenseMatrix* a, const SparseMatrix* b,
                                  int, void*) {
    return from_dense(handle, *a, *b);
}

int cusparseXcoo2csr(SparseHandle handle, const int* rows, int count, int m, int* offsets,
                     int base) {
    return do_sparse(handle, [=] {
        const auto read = read_indices(rows, kInts, count, base);
        write_indices(offsets, kInts, offsets_of(read, m), base);
    });
}

int cusparseXcsr2coo(SparseHandle handle, const int* offsets, int, int m, int* rows, int base) {
    return do_sparse(handle, [=] {
        write_indices(rows, kInts, lines_of(read_indices(offsets, kInts, m + 1, base)), base);
    });
}

int cusparseCreateIdentityPermutation(SparseHandle handle, int n, int* permutation) {
    return do_sparse(handle, [=] {
        std::vector<int> places(static_cast<size_t>(n));
        std::iota(places.begin(), places.end(), 0);
        write_plain(permutation, places);
    });
}

int cusparseXcoosort_bufferSizeExt(SparseHandle handle, int, int, int, const int*, const int*,
                                   size_t* size) {
    return give_size(handle, size);
}

int cusparseXcoosortByRow(SparseHandle handle, int, int, int count, int* rows, int* columns,
                          int* permutation, void*) {
    return sort_elements(handle, count, rows, columns, permutation, false);
}

int cusparseXcoosortByColumn(SparseHandle handle, int, int, int count, int* rows, int* columns,
                             int* permutation, void*) {
    return sort_elements(handle, count, rows, columns, permutation, true);
}

#define CUTUNE_SORTED_LINES(NAME, LINES)                                                           \
    int cusparse##NAME##_bufferSizeExt(SparseHandle handle, int, int, int, const int*, const int*, \
                                       size_t* size) {                                             \
        return give_size(handle, size);                                                            \
    }                                                                                              \
    int cusparse##NAME(SparseHandle handle, int m, int n, int count,                               \
                       const cusparseMatDescr* about, const int* offsets, int* indices,            \
                       int* permutation, void*) {                                                  \
        (void)m, (void)n;                                                                          \
        return sort_lines(handle, LINES, count, about->base, offsets, indices, permutation);       \
    }
CUTUNE_SORTED_LINES(Xcsrsort, m)
CUTUNE_SORTED_LINES(Xcscsort, n)

int cusparseCsr2cscEx2_bufferSize(SparseHandle handle, int, int, int, const void*, const int*,
                                  const int*, void*, int*, int*, int, int, int, int, size_t* size) {
    return give_size(handle, size);
}

int cusparseCsr2cscEx2(SparseHandle handle, int m, int n, int count, void* values, int* offsets,
                       int* indices, void* to, int* to_offsets, int* to_indices, int type,
                       int copies_values, int base, int, void*) {
    const SparseMatrix a{kRows, m, n, count, offsets, indices, values, kInts, kInts, base, type};
    return transpose_rows(handle, a, to, to_offsets, to_indices, copies_values != 0);
}

// Functions that are not emulated end here (see link.py).
int cutune_unsupported_sparse_call(const char* name) {
    say_not_emulated(name);
    return kSparseNotSupported;
}

}  // extern "C"
