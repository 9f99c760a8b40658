#include "cutune_launch.h"
static inline long long cutune_guard_1_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_2_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_3_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "add", "many_lines.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {2, "add", "many_lines.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {3, "add", "many_lines.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
};
#include "cutune_probe.h"
#line 1 "many_lines.cu"
// Comments, line ends and continuations inside a configuration survive, line by line.
__global__ void add(int n, const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}

void run(int n, const float *a, float *b, cudaStream_t stream) {
    for (cutune_launch cutune_1(1, dim3((n + 127) / 128), 128, 0, stream, n, a, b); cutune_1.next();) add<<<cutune_1.grid // rounded up
,        // blocks
          cutune_1.block, /* nothing
                  dynamic */ cutune_1.smem,
          cutune_1.stream>>>(n,
                    a,   // read
                    b);  // read and written
    for (cutune_launch cutune_2(2, (n + 63) / 64, 64, 0, 0, n, a, b); cutune_2.next();) add<<<cutune_2.grid \
, cutune_2.block, cutune_2.smem, cutune_2.stream>>>(n, a, b);
    for (cutune_launch cutune_3(3, n / 32, 32, 0, 0, n, a, b); cutune_3.next();) add <<< cutune_3.grid /* exact */ , cutune_3.block, cutune_3.smem, cutune_3.stream >>> ( n , a , b ) ;
}
