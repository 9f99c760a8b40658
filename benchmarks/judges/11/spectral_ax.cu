// Poisson's operator on n spectral elements of 8 x 8 x 8 nodes, FP64: derivatives along three axes,
// the six factors of the element's shape, and the transposed derivatives. A block has an element
// and keeps its fields in shared memory.
//
//     nvcc -O2 -o spectral_ax spectral_ax.cu && ./spectral_ax 1000

#include "../host.h"

#define P 8
#define NODES (P * P * P)

#pragma cutune kernel spectral_ax data(elements) block(x: 32, 64, 128, 256, 512) grid(keep)
__global__ void spectral_ax(int elements, const double *__restrict__ derivative,
                            const double *__restrict__ shape, const double *__restrict__ u,
                            double *__restrict__ out) {
    __shared__ double d[P * P], values[NODES], along_r[NODES], along_s[NODES], along_t[NODES];
    const int element = blockIdx.x;
    if (element >= elements) return;
    for (int e = threadIdx.x; e < P * P; e += blockDim.x) d[e] = derivative[e];
    for (int e = threadIdx.x; e < NODES; e += blockDim.x)
        values[e] = u[(size_t)element * NODES + e];
    __syncthreads();

    for (int e = threadIdx.x; e < NODES; e += blockDim.x) {
        const int i = e % P, j = e / P % P, k = e / (P * P);
        double r = 0.0, s = 0.0, t = 0.0;
        for (int l = 0; l < P; l++) {
            r += d[i * P + l] * values[(k * P + j) * P + l];
            s += d[j * P + l] * values[(k * P + l) * P + i];
            t += d[k * P + l] * values[(l * P + j) * P + i];
        }
        const double *g = shape + (size_t)element * 6 * NODES + e;
        along_r[e] = g[0] * r + g[NODES] * s + g[2 * NODES] * t;
        along_s[e] = g[NODES] * r + g[3 * NODES] * s + g[4 * NODES] * t;
        along_t[e] = g[2 * NODES] * r + g[4 * NODES] * s + g[5 * NODES] * t;
    }
    __syncthreads();

    for (int e = threadIdx.x; e < NODES; e += blockDim.x) {
        const int i = e % P, j = e / P % P, k = e / (P * P);
        double sum = 0.0;
        for (int l = 0; l < P; l++)
            sum += d[l * P + i] * along_r[(k * P + j) * P + l] +
                   d[l * P + j] * along_s[(k * P + l) * P + i] +
                   d[l * P + k] * along_t[(l * P + j) * P + i];
        out[(size_t)element * NODES + e] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 17);
    const size_t count = (size_t)n * NODES;
    const auto field = [](size_t size, uint32_t seed) {
        const std::vector<float> values = quick_values(size, seed);
        return std::vector<double>(values.begin(), values.end());
    };
    const std::vector<double> d = field(P * P, 1), shape = field(6 * count, 2), u = field(count, 3);
    const double *d_derivative = to_device(d), *d_shape = to_device(shape), *d_u = to_device(u);
    double *d_out = device_zeros<double>(count);

    spectral_ax<<<n, 256>>>(n, d_derivative, d_shape, d_u, d_out);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t node) {
        const size_t first = node / NODES * NODES;
        const int own[3] = {(int)(node % P), (int)(node / P % P), (int)(node / (P * P) % P)};
        const int stride[3] = {1, P, P * P};
        const int factor[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
        double sum = 0.0;
        for (int axis = 0; axis < 3; axis++)
            for (int l = 0; l < P; l++) {
                int at[3] = {own[0], own[1], own[2]};
                at[axis] = l;
                const size_t e = at[0] + P * at[1] + P * P * at[2];
                double flux = 0.0;
                for (int other = 0; other < 3; other++) {
                    double slope = 0.0;
                    for (int m = 0; m < P; m++)
                        slope += d[at[other] * P + m] *
                                 u[first + e + (size_t)m * stride[other] -
                                   (size_t)at[other] * stride[other]];
                    flux += shape[6 * first + factor[axis][other] * NODES + e] * slope;
                }
                sum += d[l * P + own[axis]] * flux;
            }
        return sum;
    }));
}
