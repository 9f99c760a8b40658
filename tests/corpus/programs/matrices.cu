// Matrix instructions of a warp: wmma through its C++ interface, mma and ldmatrix as in libraries.
#include <cuda_bf16.h>
#include <mma.h>

#include <cmath>
#include <type_traits>

#include "check.h"

namespace w = nvcuda::wmma;

template <int M, int N, int K>
__global__ void fragments(const half *a, const half *b, float *c) {
    w::fragment<w::matrix_a, M, N, K, half, w::row_major> x;
    w::fragment<w::matrix_b, M, N, K, half, w::col_major> y;
    w::fragment<w::accumulator, M, N, K, float> z;
    w::fill_fragment(z, 1.0f);
    w::load_matrix_sync(x, a, K);
    w::load_matrix_sync(y, b, K);
    w::mma_sync(z, x, y, z);
    for (int i = 0; i < z.num_elements; ++i) z.x[i] *= 2;
    w::store_matrix_sync(c, z, N, w::mem_row_major);
}

__global__ void doubles(const double *a, const double *b, double *c) {
    w::fragment<w::matrix_a, 8, 8, 4, double, w::row_major> x;
    w::fragment<w::matrix_b, 8, 8, 4, double, w::row_major> y;
    w::fragment<w::accumulator, 8, 8, 4, double> z;
    w::fill_fragment(z, 0.0);
    w::load_matrix_sync(x, a, 4);
    w::load_matrix_sync(y, b, 8);
    w::mma_sync(z, x, y, z);
    w::store_matrix_sync(c, z, 8, w::mem_col_major);
}

// c[16][8] = a[16][16] b[8][16]^T, the way libraries do it; b's second half through .trans.
template <class T> __global__ void product(const T *a, const T *b, float *c) {
    __shared__ __align__(16) T x[16][16], y[8][16], z[16][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) x[i / 16][i % 16] = a[i];
    for (int i = lane; i < 128; i += 32) {
        y[i / 16][i % 16] = b[i];
        z[i % 16][i / 16] = b[i];
    }
    __syncwarp();
    unsigned A[4], B[2], B2[2];
    float C[4] = {};
    const auto place = [](const void *p) { return unsigned(__cvta_generic_to_shared(p)); };
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(A[0]), "=r"(A[1]), "=r"(A[2]), "=r"(A[3])
                 : "r"(place(&x[lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(B[0]), "=r"(B[1])
                 : "r"(place(&y[lane % 8][lane / 8 % 2 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(B2[0]), "=r"(B2[1])
                 : "r"(place(&z[lane % 16][0])));
    if (sizeof(T) == 2 && std::is_same<T, half>::value)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3])
                     : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3])
                     : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
    const bool same = B[0] == B2[0] && B[1] == B2[1];
    for (int i = 0; i < 4; ++i)
        c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = same ? C[i] : NAN;
}

__global__ void singles(const float *a, const float *b, float *c) {  // m16n8k8, tf32
    const int lane = threadIdx.x, group = lane / 4, part = lane % 4;
    unsigned A[4], B[2];
    float C[4] = {};
    for (int i = 0; i < 4; ++i)
        A[i] = __float_as_uint(a[(group + i % 2 * 8) * 8 + part + i / 2 * 4]);
    for (int i = 0; i < 2; ++i) B[i] = __float_as_uint(b[(part + 4 * i) * 8 + group]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3])
                 : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
    for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + part * 2 + i % 2] = C[i];
}

__global__ void bytes(const signed char *a, const signed char *b, int *c) {  // m16n8k32, s8
    const int lane = threadIdx.x, group = lane / 4, part = lane % 4;
    unsigned A[4], B[2];
    int C[4] = {};
    for (int i = 0; i < 4; ++i)
        A[i] = *(const unsigned *)&a[(group + i % 2 * 8) * 32 + part * 4 + i / 2 * 16];
    for (int i = 0; i < 2; ++i) B[i] = *(const unsigned *)&b[group * 32 + part * 4 + 16 * i];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(C[0]), "+r"(C[1]), "+r"(C[2]), "+r"(C[3])
                 : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
    for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + part * 2 + i % 2] = C[i];
}

template <class T> T *numbers(int n, int step) {
    T *x;
    SUCCEED(cudaMallocManaged(&x, n * sizeof *x));
    for (int i = 0; i < n; ++i) x[i] = T(float((i * step) % 11 - 5));
    return x;
}

// `columns`: b holds its columns one after the other.
template <class T, class R>
bool right(const T *a, const T *b, const R *c, int m, int n, int k, bool columns, float start = 0,
           float factor = 1, bool result_columns = false) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = start;
            for (int l = 0; l < k; ++l)
                sum += double(float(a[i * k + l])) * double(float(columns ? b[j * k + l] : b[l * n + j]));
            if (c[result_columns ? j * m + i : i * n + j] != R(sum * factor)) return false;
        }
    return true;
}

template <int M, int N, int K> void try_fragments() {
    half *a = numbers<half>(M * K, 3), *b = numbers<half>(N * K, 7);
    float *c = numbers<float>(M * N, 1);
    fragments<M, N, K><<<1, 32>>>(a, b, c);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(right(a, b, c, M, N, K, true, 1, 2));
}

template <class T> void try_product() {
    T *a = numbers<T>(256, 3), *b = numbers<T>(128, 7);
    float *c = numbers<float>(128, 1);
    product<T><<<1, 32>>>(a, b, c);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(right(a, b, c, 16, 8, 16, true));
}

int main() {
    try_fragments<16, 16, 16>();
    try_fragments<32, 8, 16>();
    try_fragments<8, 32, 16>();
    try_product<half>();
    try_product<__nv_bfloat16>();
    double *x = numbers<double>(32, 3), *y = numbers<double>(32, 7), *z = numbers<double>(64, 1);
    doubles<<<1, 32>>>(x, y, z);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(right(x, y, z, 8, 8, 4, false, 0, 1, true));
    float *p = numbers<float>(128, 3), *q = numbers<float>(64, 7), *r = numbers<float>(128, 1);
    singles<<<1, 32>>>(p, q, r);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(right(p, q, r, 16, 8, 8, false));
    auto *s = numbers<signed char>(512, 3), *t = numbers<signed char>(256, 7);
    int *u = numbers<int>(128, 1);
    bytes<<<1, 32>>>(s, t, u);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(right(s, t, u, 16, 8, 32, true));
    return pass();
}
