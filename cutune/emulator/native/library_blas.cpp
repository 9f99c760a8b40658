// cuBLAS: handles, copies, vectors. Results differ from NVIDIA's in the last bits: sums are formed
// in double precision, in the order of their terms.
#include <cmath>
#include <cstring>

#include "library_blas.h"

namespace cutune {

namespace {

template <class T>
int axpy(BlasHandle handle, int64_t n, const T* alpha, const T* x, int64_t incx, T* y,
         int64_t incy) {
    const Scalar<T> factor(handle, alpha);
    return do_blas(handle, [=] {
        const auto terms = read_vector(x, n, incx);
        auto sums = read_vector(y, n, incy);
        const auto by = factor.get();
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += by * terms[k];
        write_vector(y, incy, std::move(sums));
    });
}

template <class T, class F>
int scal(BlasHandle handle, int64_t n, const F* alpha, T* x, int64_t incx) {
    const Scalar<F> factor(handle, alpha);
    return do_blas(handle, [=] {
        auto values = read_vector(x, n, incx);
        const auto by = factor.get();
        for (auto& value : values) value *= by;
        write_vector(x, incx, std::move(values));
    });
}

template <class T>
int copied(BlasHandle handle, int64_t n, const T* x, int64_t incx, T* y, int64_t incy) {
    return do_blas(handle, [=] { write_vector(y, incy, read_vector(x, n, incx)); });
}

template <class T>
int swapped(BlasHandle handle, int64_t n, T* x, int64_t incx, T* y, int64_t incy) {
    return do_blas(handle, [=] {
        auto first = read_vector(x, n, incx), second = read_vector(y, n, incy);
        write_vector(x, incx, std::move(second));
        write_vector(y, incy, std::move(first));
    });
}

template <class T>
int dot(BlasHandle handle, int64_t n, const T* x, int64_t incx, const T* y, int64_t incy, T* result,
        bool conjugated = false) {
    return do_blas(handle, [=] {
        const auto first = read_vector(x, n, incx), second = read_vector(y, n, incy);
        Wide<T> sum = 0;
        for (size_t k = 0; k < first.size(); ++k)
            sum += (conjugated ? conjugate(first[k]) : first[k]) * second[k];
        give(handle, result, sum);
    });
}

template <class T>
int nrm2(BlasHandle handle, int64_t n, const T* x, int64_t incx, Real<T>* result) {
    return do_blas(handle, [=] {
        double sum = 0;
        for (const auto& value : read_vector(x, n, incx)) sum += squared(value);
        give(handle, result, std::sqrt(sum));
    });
}

template <class T>
int asum(BlasHandle handle, int64_t n, const T* x, int64_t incx, Real<T>* result) {
    return do_blas(handle, [=] {
        double sum = 0;
        for (const auto& value : read_vector(x, n, incx)) sum += magnitude(value);
        give(handle, result, sum);
    });
}

// The place of the first largest or smallest element, from 1; 0 where there is none.
template <class T, class I>
int extreme(BlasHandle handle, int64_t n, const T* x, int64_t incx, I* result, bool largest) {
    return do_blas(handle, [=] {
        const auto values = read_vector(x, n, incx);
        size_t best = 0;
        for (size_t k = 1; k < values.size(); ++k) {
            const double now = magnitude(values[k]), before = magnitude(values[best]);
            if (largest ? now > before : now < before) best = k;
        }
        const I place = values.empty() ? 0 : static_cast<I>(best + 1);
        if (handle->pointer_mode)
            copy_rows(result, sizeof place, &place, sizeof place, sizeof place, 1,
                      cudaMemcpyHostToDevice);
        else
            *result = place;
    });
}

template <class T>
int rotated(BlasHandle handle, int64_t n, T* x, int64_t incx, T* y, int64_t incy, const T* c,
            const T* s) {
    const Scalar<T> cosine(handle, c), sine(handle, s);
    return do_blas(handle, [=] {
        auto first = read_vector(x, n, incx), second = read_vector(y, n, incy);
        const double by = cosine.get(), other = sine.get();
        for (size_t k = 0; k < first.size(); ++k) {
            const double a = first[k], b = second[k];
            first[k] = by * a + other * b;
            second[k] = by * b - other * a;
        }
        write_vector(x, incx, std::move(first));
        write_vector(y, incy, std::move(second));
    });
}

int copy_between(int64_t rows, int64_t columns, int64_t bytes, const void* from, int64_t pitch,
                 void* to, int64_t to_pitch, cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
    if (rows < 0 || columns < 0 || bytes <= 0 || pitch <= 0 || to_pitch <= 0)
        return kBlasInvalidValue;
    const bool done = do_on_stream(stream, [=] {
        if (rows != 0 && columns != 0)
            copy_rows(to, static_cast<size_t>(to_pitch * bytes), from,
                      static_cast<size_t>(pitch * bytes), static_cast<size_t>(rows * bytes),
                      static_cast<size_t>(columns), kind);
    });
    return done ? kBlasSuccess : 11;  // CUBLAS_STATUS_MAPPING_ERROR
}

struct StatusName {
    int status;
    const char* name;
};
const StatusName kStatusNames[] = {
    {0, "CUBLAS_STATUS_SUCCESS"},          {1, "CUBLAS_STATUS_NOT_INITIALIZED"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED"},     {7, "CUBLAS_STATUS_INVALID_VALUE"},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH"},    {11, "CUBLAS_STATUS_MAPPING_ERROR"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED"}, {14, "CUBLAS_STATUS_INTERNAL_ERROR"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED"},   {16, "CUBLAS_STATUS_LICENSE_ERROR"},
};

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

// ---- handles

int cublasCreate_v2(BlasHandle* handle) {
    if (!handle) return kBlasInvalidValue;
    if (cudaFree(nullptr) != cudaSuccess) return kBlasNotInitialized;
    *handle = new cublasContext;
    return kBlasSuccess;
}

int cublasDestroy_v2(BlasHandle handle) {
    if (!handle) return kBlasNotInitialized;
    delete handle;
    return kBlasSuccess;
}

int cublasGetVersion_v2(BlasHandle, int* version) {
    *version = CUDART_VERSION / 1000 * 10000;
    return kBlasSuccess;
}

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

int cublasGetProperty(int part, int* value) {
    if (part < 0 || part > 2 || !value) return kBlasInvalidValue;
    *value = part == 0 ? CUDART_VERSION / 1000 : 0;
    return kBlasSuccess;
}

#define CUTUNE_SETTING(SET, GET, TYPE, FIELD)                                                      \
    int SET(BlasHandle handle, TYPE value) {                                                       \
        if (!handle) return kBlasNotInitialized;                                                   \
        handle->FIELD = value;                                                                     \
        return kBlasSuccess;                                                                       \
    }                                                                                              \
    int GET(BlasHandle handle, TYPE* value) {                                                      \
        if (!handle) return kBlasNotInitialized;                                                   \
        *value = handle->FIELD;                                                                    \
        return kBlasSuccess;                                                                       \
    }
CUTUNE_SETTING(cublasSetStream_v2, cublasGetStream_v2, cudaStream_t, stream)
CUTUNE_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)
CUTUNE_SETTING(cublasSetMathMode, cublasGetMathMode, int, math_mode)
CUTUNE_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, int, atomics_mode)
CUTUNE_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, processors)
#undef CUTUNE_SETTING

int cublasSetWorkspace_v2(BlasHandle handle, void*, size_t) {
    return handle ? kBlasSuccess : kBlasNotInitialized;
}

int cublasLoggerConfigure(int, int, int, const char*) { return kBlasSuccess; }

const char* cublasGetStatusName(int status) {
    for (const StatusName& one : kStatusNames)
        if (one.status == status) return one.name;
    return "CUBLAS_UNKNOWN_STATUS";
}

const char* cublasGetStatusString(int status) { return cublasGetStatusName(status); }

// ---- copies

#define CUTUNE_COPIES(I, END)                                                                      \
    int cublasSetVector##END(I n, I bytes, const void* x, I incx, void* to, I incy) {              \
        return copy_between(1, n, bytes, x, incx, to, incy, cudaMemcpyHostToDevice);               \
    }                                                                                              \
    int cublasGetVector##END(I n, I bytes, const void* x, I incx, void* to, I incy) {              \
        return copy_between(1, n, bytes, x, incx, to, incy, cudaMemcpyDeviceToHost);               \
    }                                                                                              \
    int cublasSetMatrix##END(I rows, I columns, I bytes, const void* a, I lda, void* b, I ldb) {   \
        return copy_between(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyHostToDevice);         \
    }                                                                                              \
    int cublasGetMatrix##END(I rows, I columns, I bytes, const void* a, I lda, void* b, I ldb) {   \
        return copy_between(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyDeviceToHost);         \
    }                                                                                              \
    int cublasSetVectorAsync##END(I n, I bytes, const void* x, I incx, void* to, I incy,           \
                                  cudaStream_t stream) {                                           \
        return copy_between(1, n, bytes, x, incx, to, incy, cudaMemcpyHostToDevice, stream);       \
    }                                                                                              \
    int cublasGetVectorAsync##END(I n, I bytes, const void* x, I incx, void* to, I incy,           \
                                  cudaStream_t stream) {                                           \
        return copy_between(1, n, bytes, x, incx, to, incy, cudaMemcpyDeviceToHost, stream);       \
    }                                                                                              \
    int cublasSetMatrixAsync##END(I rows, I columns, I bytes, const void* a, I lda, void* b,       \
                                  I ldb, cudaStream_t stream) {                                    \
        return copy_between(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyHostToDevice, stream); \
    }                                                                                              \
    int cublasGetMatrixAsync##END(I rows, I columns, I bytes, const void* a, I lda, void* b,       \
                                  I ldb, cudaStream_t stream) {                                    \
        return copy_between(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyDeviceToHost, stream); \
    }
CUTUNE_WIDTHS(CUTUNE_COPIES)

// ---- vectors

#define CUTUNE_VECTORS(I, END, L, T)                                                               \
    int cublas##L##axpy_v2##END(BlasHandle h, I n, const T* alpha, const T* x, I incx, T* y,       \
                                I incy) {                                                          \
        return axpy(h, n, alpha, x, incx, y, incy);                                                \
    }                                                                                              \
    int cublas##L##scal_v2##END(BlasHandle h, I n, const T* alpha, T* x, I incx) {                 \
        return scal(h, n, alpha, x, incx);                                                         \
    }                                                                                              \
    int cublas##L##copy_v2##END(BlasHandle h, I n, const T* x, I incx, T* y, I incy) {             \
        return copied(h, n, x, incx, y, incy);                                                     \
    }                                                                                              \
    int cublas##L##swap_v2##END(BlasHandle h, I n, T* x, I incx, T* y, I incy) {                   \
        return swapped(h, n, x, incx, y, incy);                                                    \
    }
CUTUNE_EVERY(CUTUNE_VECTORS)

#define CUTUNE_SIZES(I, END, L, ANY, T, R)                                                         \
    int cublas##L##nrm2_v2##END(BlasHandle h, I n, const T* x, I incx, R* result) {                \
        return nrm2(h, n, x, incx, result);                                                        \
    }                                                                                              \
    int cublas##L##asum_v2##END(BlasHandle h, I n, const T* x, I incx, R* result) {                \
        return asum(h, n, x, incx, result);                                                        \
    }                                                                                              \
    int cublasI##ANY##amax_v2##END(BlasHandle h, I n, const T* x, I incx, I* result) {             \
        return extreme(h, n, x, incx, result, true);                                               \
    }                                                                                              \
    int cublasI##ANY##amin_v2##END(BlasHandle h, I n, const T* x, I incx, I* result) {             \
        return extreme(h, n, x, incx, result, false);                                              \
    }
#define CUTUNE_ALL_SIZES(I, END)                                                                   \
    CUTUNE_SIZES(I, END, S, s, float, float)                                                       \
    CUTUNE_SIZES(I, END, D, d, double, double)                                                     \
    CUTUNE_SIZES(I, END, Sc, c, Complex, float)                                                    \
    CUTUNE_SIZES(I, END, Dz, z, DoubleComplex, double)
CUTUNE_WIDTHS(CUTUNE_ALL_SIZES)

#define CUTUNE_DOTS(I, END, L, T)                                                                  \
    int cublas##L##dot_v2##END(BlasHandle h, I n, const T* x, I incx, const T* y, I incy,          \
                               T* result) {                                                        \
        return dot(h, n, x, incx, y, incy, result);                                                \
    }                                                                                              \
    int cublas##L##rot_v2##END(BlasHandle h, I n, T* x, I incx, T* y, I incy, const T* c,          \
                               const T* s) {                                                       \
        return rotated(h, n, x, incx, y, incy, c, s);                                              \
    }
CUTUNE_REAL(CUTUNE_DOTS)

#define CUTUNE_COMPLEX_DOTS(I, END, L, T)                                                          \
    int cublas##L##dotu_v2##END(BlasHandle h, I n, const T* x, I incx, const T* y, I incy,         \
                                T* result) {                                                       \
        return dot(h, n, x, incx, y, incy, result);                                                \
    }                                                                                              \
    int cublas##L##dotc_v2##END(BlasHandle h, I n, const T* x, I incx, const T* y, I incy,         \
                                T* result) {                                                       \
        return dot(h, n, x, incx, y, incy, result, true);                                          \
    }
CUTUNE_COMPLEX(CUTUNE_COMPLEX_DOTS)

#define CUTUNE_REAL_FACTORS(I, END)                                                                \
    int cublasCsscal_v2##END(BlasHandle h, I n, const float* alpha, Complex* x, I incx) {          \
        return scal(h, n, alpha, x, incx);                                                         \
    }                                                                                              \
    int cublasZdscal_v2##END(BlasHandle h, I n, const double* alpha, DoubleComplex* x, I incx) {   \
        return scal(h, n, alpha, x, incx);                                                         \
    }
CUTUNE_WIDTHS(CUTUNE_REAL_FACTORS)

// Functions that are not emulated end here (see link.py).
int cutune_unsupported_blas_call(const char* name) {
    say_not_emulated(name);
    return kBlasNotSupported;
}

}  // extern "C"
