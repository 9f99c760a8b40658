// Repulsion integrals of four s shells, FP64: each pair of n pairs of shells with each pair that is
// not after it, as sums over one, two or four Gaussians per pair, with the Boys function.
//
//     nvcc -O2 -o eri_ssss eri_ssss.cu && ./eri_ssss 500

#include "../host.h"

// A product of two Gaussians: exponent, centre and factor.
struct Product {
    double exponent, x, y, z, factor;
};

__host__ __device__ inline double boys(double t) {
    if (t < 1e-6) return 1.0 - t / 3.0;
    const double root = sqrt(t);
    return 0.88622692545275801 * erf(root) / root;
}

__host__ __device__ inline double repulsion(const Product &p, const Product &q) {
    const double dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
    const double sum = p.exponent + q.exponent, product = p.exponent * q.exponent;
    const double t = product / sum * (dx * dx + dy * dy + dz * dz);
    return 34.986836655249725 * p.factor * q.factor / (product * sqrt(sum)) * boys(t);
}

__host__ __device__ inline double integral(const Product *products, const int *first, int i,
                                           int j) {
    double sum = 0.0;
    for (int p = first[i]; p < first[i + 1]; p++)
        for (int q = first[j]; q < first[j + 1]; q++) sum += repulsion(products[p], products[q]);
    return sum;
}

__global__ void eri_ssss(int pairs, const Product *__restrict__ products,
                         const int *__restrict__ first, double *__restrict__ out) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < pairs && j <= i) out[(size_t)i * pairs + j] = integral(products, first, i, j);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 1 << 14);
    std::vector<int> first(n + 1, 0);
    for (int i = 0; i < n; i++) first[i + 1] = first[i] + (1 << mixed(i) % 3);
    const std::vector<float> random = quick_values((size_t)first[n] * 5, 1);
    std::vector<Product> products(first[n]);
    for (int i = 0; i < n; i++)
        for (int p = first[i]; p < first[i + 1]; p++) {
            const float *r = random.data() + (size_t)p * 5, *o = random.data() + first[i] * 5;
            products[p] = {0.3 + 4.0 * r[0], 5.0 * o[1], 5.0 * o[2], 5.0 * o[3] + r[3], 0.1 + r[4]};
        }
    const Product *d_products = to_device(products);
    const int *d_first = to_device(first);
    double *d_out = device_zeros<double>((size_t)n * n);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    eri_ssss<<<grid, block>>>(n, d_products, d_first, d_out);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, (size_t)n * n), [&](size_t e) {
        const int i = (int)(e / n), j = (int)(e % n);
        return j <= i ? integral(products.data(), first.data(), i, j) : 0.0;
    }));
}
