// The eigenvalues of n symmetric 3 x 3 matrices in double precision, as principal stresses are
// found: by the angle of the characteristic polynomial. Six arrays in, three out.
//
//     nvcc -O2 -o batch_eig3 batch_eig3.cu && ./batch_eig3 100000

#include "../host.h"

__host__ __device__ inline double3 eigenvalues(const double m[6]) {
    const double xx = m[0], yy = m[1], zz = m[2], xy = m[3], xz = m[4], yz = m[5];
    const double mean = (xx + yy + zz) / 3.0;
    const double a = xx - mean, b = yy - mean, c = zz - mean;
    const double off = xy * xy + xz * xz + yz * yz;
    const double p = sqrt((a * a + b * b + c * c + 2.0 * off) / 6.0);
    if (p < 1e-12) return make_double3(mean, mean, mean);
    const double det = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
    double r = det / (2.0 * p * p * p);
    r = fmin(fmax(r, -1.0), 1.0);
    const double angle = acos(r) / 3.0;
    const double largest = mean + 2.0 * p * cos(angle);
    const double smallest = mean + 2.0 * p * cos(angle + 2.0943951023931953);
    return make_double3(largest, 3.0 * mean - largest - smallest, smallest);
}

__global__ void batch_eig3(const double *matrices, double *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double m[6];
    for (int c = 0; c < 6; c++) m[c] = matrices[c * n + i];
    double3 found = eigenvalues(m);
    values[i] = found.x;
    values[n + i] = found.y;
    values[2 * n + i] = found.z;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 100000000);
    std::vector<double> matrices(6 * (size_t)n);
    for (size_t e = 0; e < matrices.size(); e++) matrices[e] = mixed((uint32_t)e) * 0x1p-32;
    const double *d_matrices = to_device(matrices);
    double *d_values = device_zeros<double>(3 * (size_t)n);

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    batch_eig3<<<blocks, threads>>>(d_matrices, d_values, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_values, 3 * (size_t)n), [&](size_t e) {
        double m[6];
        for (int c = 0; c < 6; c++) m[c] = matrices[c * (size_t)n + e % n];
        const double3 found = eigenvalues(m);
        return e / n == 0 ? found.x : e / n == 1 ? found.y : found.z;
    }));
}
