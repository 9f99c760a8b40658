// Four iterations of conjugate gradients for Poisson's equation on an n x n grid: the five-point
// operator, dot products by blocks in shared memory, and updates of vectors in turn.
//
//     nvcc -O2 -o cg_poisson cg_poisson.cu && ./cg_poisson 1000

#include "../judge.h"

#define ITERATIONS 4

__global__ void apply_operator(int n, const float *p, float *q) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const int at = y * n + x;
    float sum = 4.0f * p[at];
    if (x > 0) sum -= p[at - 1];
    if (x < n - 1) sum -= p[at + 1];
    if (y > 0) sum -= p[at - n];
    if (y < n - 1) sum -= p[at + n];
    q[at] = sum;
}

#pragma cutune kernel dot data(count) block(x: 32, 64, 128, 256, 512, 1024) grid(ceil(count / x))
__global__ void dot(int count, const float *a, const float *b, double *result) {
    __shared__ double partial[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < count ? (double)a[i] * b[i] : 0.0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

__global__ void update_solution(int count, float alpha, const float *p, const float *q, float *x,
                                float *r) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
}

__global__ void update_direction(int count, float beta, const float *r, float *p) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) p[i] = r[i] + beta * p[i];
}

static double device_dot(int count, const float *a, const float *b, double *result) {
    CHECK(cudaMemset(result, 0, sizeof(double)));
    dot<<<(count + 255) / 256, 256>>>(count, a, b, result);
    finish_launches();
    return from_device(result, 1)[0];
}

// The same iterations on the host.
static std::vector<double> expected_solution(int n, const std::vector<float> &right) {
    const size_t count = right.size();
    std::vector<double> x(count), r(right.begin(), right.end()), p = r, q(count);
    double rho = 0.0;
    for (const double value : r) rho += value * value;
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        double curvature = 0.0, next = 0.0;
        for (size_t e = 0; e < count; e++) {
            const size_t i = e % n, j = e / n, last = (size_t)n - 1;
            q[e] = 4.0 * p[e] - (i > 0 ? p[e - 1] : 0.0) - (i < last ? p[e + 1] : 0.0) -
                   (j > 0 ? p[e - n] : 0.0) - (j < last ? p[e + n] : 0.0);
            curvature += p[e] * q[e];
        }
        for (size_t e = 0; e < count; e++) {
            x[e] += rho / curvature * p[e];
            r[e] -= rho / curvature * q[e];
            next += r[e] * r[e];
        }
        for (size_t e = 0; e < count; e++) p[e] = r[e] + next / rho * p[e];
        rho = next;
    }
    return x;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const int count = n * n;
    const std::vector<float> right = fixed_values(count, 1), zero(count);
    float *x = to_device(zero), *r = to_device(right), *p = to_device(right), *q = to_device(zero);
    double *result = to_device(std::vector<double>(1));

    const int threads = 256, blocks = (count + threads - 1) / threads;
    const dim3 block(32, 8);
    const dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    double rho = device_dot(count, r, r, result);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        apply_operator<<<grid, block>>>(n, p, q);
        const double alpha = rho / device_dot(count, p, q, result);
        update_solution<<<blocks, threads>>>(count, (float)alpha, p, q, x, r);
        const double next = device_dot(count, r, r, result);
        update_direction<<<blocks, threads>>>(count, (float)(next / rho), r, p);
        rho = next;
    }
    finish_launches();

    const std::vector<double> expected = expected_solution(n, right);
    return verdict(sampled_error(from_device(x, count), [&](size_t e) { return expected[e]; }));
}
