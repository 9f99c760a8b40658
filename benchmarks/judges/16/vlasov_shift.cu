// Plasma: a step of a Vlasov solver, FP64. At each of n places the electrons have 48 x 96
// velocities; the field there moves them along the second one, by cubic interpolation. Then a
// block per place adds up the density.
//
//     nvcc -O2 -o vlasov_shift vlasov_shift.cu && ./vlasov_shift 200

#include "../host.h"

#define ACROSS 48
#define ALONG 96
#define SPEEDS (ACROSS * ALONG)
#define THREADS 128

// The value at v - shift; nothing beyond the ends.
__host__ __device__ inline double shifted(const double *line, double shift, int v) {
    const double from = v - shift, whole = floor(from), t = from - whole;
    const int first = (int)whole - 1;
    const double weights[4] = {-t * (t - 1.0) * (t - 2.0) / 6.0,
                               (t + 1.0) * (t - 1.0) * (t - 2.0) * 0.5,
                               -(t + 1.0) * t * (t - 2.0) * 0.5, (t + 1.0) * t * (t - 1.0) / 6.0};
    double sum = 0.0;
    for (int k = 0; k < 4; k++)
        if (first + k >= 0 && first + k < ALONG) sum += weights[k] * line[first + k];
    return sum;
}

__global__ void accelerate(const double *__restrict__ electrons, const double *__restrict__ shifts,
                           double *__restrict__ moved, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    const int u = blockIdx.y * blockDim.y + threadIdx.y;
    const int x = blockIdx.z * blockDim.z + threadIdx.z;
    if (v >= ALONG || u >= ACROSS || x >= n) return;
    const size_t line = ((size_t)x * ACROSS + u) * ALONG;
    moved[line + v] = shifted(electrons + line, shifts[x], v);
}

__global__ void density(const double *__restrict__ moved, double *__restrict__ densities) {
    __shared__ double sums[THREADS];
    const double *own = moved + (size_t)blockIdx.x * SPEEDS;
    double sum = 0.0;
    for (int i = threadIdx.x; i < SPEEDS; i += THREADS) sum += own[i];
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) densities[blockIdx.x] = sums[0] / SPEEDS;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 65000);
    const size_t count = (size_t)n * SPEEDS;
    const std::vector<float> noise = quick_values(count, 1613);
    std::vector<double> bell(SPEEDS), electrons(count), shifts(n);
    for (int i = 0; i < SPEEDS; i++) {
        const double u = i / ALONG / (ACROSS / 8.0) - 4.0, v = i % ALONG / (ALONG / 8.0) - 4.0;
        bell[i] = exp(-0.5 * (u * u + v * v));
    }
    for (size_t i = 0; i < count; i++) electrons[i] = bell[i % SPEEDS] * (1.0 + 0.2 * noise[i]);
    for (int x = 0; x < n; x++) shifts[x] = 2.7 * sin(6.283185307 * (x + 0.4) / n) + 0.1;
    const double *d_electrons = to_device(electrons), *d_shifts = to_device(shifts);
    double *d_moved = device_zeros<double>(count), *d_densities = device_zeros<double>(n);

    dim3 block(32, 8, 1);
    dim3 grid((ALONG + block.x - 1) / block.x, (ACROSS + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    accelerate<<<grid, block>>>(d_electrons, d_shifts, d_moved, n);
    density<<<n, THREADS>>>(d_moved, d_densities);
    finish_launches();

    const std::vector<double> moved = from_device(d_moved, count);
    const double moved_error = sampled_error(moved, [&](size_t e) {
        const size_t line = e / ALONG;
        return shifted(electrons.data() + line * ALONG, shifts[line / ACROSS], (int)(e % ALONG));
    });
    const std::vector<double> densities = from_device(d_densities, n);
    const double density_error = sampled_error(densities, [&](size_t x) {
        double sum = 0.0;
        for (size_t i = x * SPEEDS; i < (x + 1) * SPEEDS; i++) sum += moved[i];
        return sum / SPEEDS;
    });
    return verdict(fmax(moved_error, density_error));
}
