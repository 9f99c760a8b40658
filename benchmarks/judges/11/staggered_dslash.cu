// The Dirac operator of staggered quarks on a periodic lattice of n x n x n x (n + 2) sites: to a
// site come the colour vectors of its eight neighbours through 3 x 3 complex matrices on the links.
// Structure of arrays.
//
//     nvcc -O2 -o staggered_dslash staggered_dslash.cu && ./staggered_dslash 16

#include "../host.h"

struct Colours {
    float2 c[3];
};

// Adds a matrix, or minus its adjoint, times a vector. Entries are `sites` apart.
__host__ __device__ inline void add_forward(Colours &sum, const float2 *link, const float2 *v,
                                            size_t sites, float sign) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const float2 m = link[(3 * r + c) * sites], x = v[c * sites];
            sum.c[r].x += sign * (m.x * x.x - m.y * x.y);
            sum.c[r].y += sign * (m.x * x.y + m.y * x.x);
        }
}

__host__ __device__ inline void add_backward(Colours &sum, const float2 *link, const float2 *v,
                                             size_t sites, float sign) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const float2 m = link[(3 * c + r) * sites], x = v[c * sites];
            sum.c[r].x -= sign * (m.x * x.x + m.y * x.y);
            sum.c[r].y -= sign * (m.x * x.y - m.y * x.x);
        }
}

__host__ __device__ inline Colours hop(const float2 *links, const float2 *v, int site, int n,
                                       int times) {
    const int slice = n * n * n;
    const size_t sites = (size_t)slice * times;
    const int x = site % n, y = site / n % n, z = site / (n * n) % n, t = site / slice;
    const int at[4] = {x, y, z, t}, extent[4] = {n, n, n, times};
    const int stride[4] = {1, n, n * n, slice};
    Colours sum = {};
    int parity = 0;
#pragma unroll
    for (int d = 0; d < 4; d++) {
        const float sign = parity & 1 ? -0.5f : 0.5f;
        const int up = at[d] + 1 < extent[d] ? site + stride[d]
                                             : site - (extent[d] - 1) * stride[d];
        const int down = at[d] > 0 ? site - stride[d] : site + (extent[d] - 1) * stride[d];
        add_forward(sum, links + 9 * d * sites + site, v + up, sites, sign);
        add_backward(sum, links + 9 * d * sites + down, v + down, sites, sign);
        parity += at[d];
    }
    return sum;
}

__global__ void staggered_dslash(const float2 *__restrict__ links, const float2 *__restrict__ v,
                                 float2 *__restrict__ out, int n, int times) {
    const int site = blockIdx.x * blockDim.x + threadIdx.x;
    const int sites = n * n * n * times;
    if (site >= sites) return;
    const Colours sum = hop(links, v, site, n, times);
    for (int c = 0; c < 3; c++) out[(size_t)c * sites + site] = sum.c[c];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 12, 60);
    const int times = n + 2, sites = n * n * n * times;
    std::vector<float> links = quick_values((size_t)sites * 72, 1);
    std::vector<float> v = quick_values((size_t)sites * 6, 2);
    for (float &value : links) value -= 0.5f;
    for (float &value : v) value -= 0.5f;
    const float *d_links = to_device(links), *d_v = to_device(v);
    float *d_out = device_zeros<float>((size_t)sites * 6);

    const int threads = 128;
    staggered_dslash<<<(sites + threads - 1) / threads, threads>>>(
        (const float2 *)d_links, (const float2 *)d_v, (float2 *)d_out, n, times);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, (size_t)sites * 6), [&](size_t e) {
        const size_t number = e / 2;
        const Colours sum = hop((const float2 *)links.data(), (const float2 *)v.data(),
                                (int)(number % sites), n, times);
        const float2 colour = sum.c[number / sites];
        return e % 2 == 0 ? colour.x : colour.y;
    }));
}
