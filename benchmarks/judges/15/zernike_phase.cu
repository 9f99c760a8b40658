// The phase of a wave over a round pupil of n x n points, from 64 Zernike polynomials: eight
// angular orders, four radial ones each, cosine and sine.
//
//     nvcc -O2 -o zernike_phase zernike_phase.cu && ./zernike_phase 256

#include "../host.h"

#define ANGULAR 8
#define RADIAL 4

// Coefficients of the radial polynomials, in powers of the squared radius.
__constant__ float radial[ANGULAR][RADIAL][RADIAL];

__global__ void zernike_phase(int n, const float *cosines, const float *sines, float *phase) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    const float x = (2 * column + 1 - n) / (float)n, y = (2 * row + 1 - n) / (float)n;
    const float square = x * x + y * y;
    float real = 1.0f, imaginary = 0.0f, sum = 0.0f;
#pragma unroll
    for (int m = 0; m < ANGULAR; m++) {
#pragma unroll
        for (int s = 0; s < RADIAL; s++) {
            float polynomial = 0.0f;
#pragma unroll
            for (int power = RADIAL - 1; power >= 0; power--)
                polynomial = polynomial * square + radial[m][s][power];
            const int mode = m * RADIAL + s;
            sum += (cosines[mode] * real + sines[mode] * imaginary) * polynomial;
        }
        const float turned = real * x - imaginary * y;
        imaginary = real * y + imaginary * x;
        real = turned;
    }
    phase[row * n + column] = square <= 1.0f ? sum : 0.0f;
}

static double factorial(int n) {
    return n < 2 ? 1.0 : n * factorial(n - 1);
}

// The coefficient of r^(m + 2 power) in the polynomial of angular order m and degree m + 2 s.
static double radial_coefficient(int m, int s, int power) {
    if (power > s) return 0.0;
    const int k = s - power;
    return (k % 2 ? -1.0 : 1.0) * factorial(m + 2 * s - k) /
           (factorial(k) * factorial(m + s - k) * factorial(s - k));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 20000);
    const size_t count = (size_t)n * n;
    const std::vector<float> cosines = quick_values(ANGULAR * RADIAL, 1);
    const std::vector<float> sines = quick_values(ANGULAR * RADIAL, 2);
    float table[ANGULAR][RADIAL][RADIAL];
    for (int i = 0; i < ANGULAR * RADIAL * RADIAL; i++)
        table[i / RADIAL / RADIAL][i / RADIAL % RADIAL][i % RADIAL] =
            (float)radial_coefficient(i / RADIAL / RADIAL, i / RADIAL % RADIAL, i % RADIAL);
    CHECK(cudaMemcpyToSymbol(radial, table, sizeof(table)));
    float *device_cosines = to_device(cosines), *device_sines = to_device(sines);
    float *phase = device_zeros<float>(count);

    const dim3 block(16, 16);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    zernike_phase<<<grid, block>>>(n, device_cosines, device_sines, phase);
    finish_launches();

    return verdict(sampled_error(from_device(phase, count), [&](size_t e) {
        const double x = (2.0 * (e % n) + 1 - n) / n, y = (2.0 * (e / n) + 1 - n) / n;
        const double r = sqrt(x * x + y * y), angle = atan2(y, x);
        double sum = 0.0;
        for (int mode = 0; mode < ANGULAR * RADIAL && r <= 1.0; mode++) {
            const int m = mode / RADIAL, s = mode % RADIAL;
            double polynomial = 0.0;
            for (int power = 0; power <= s; power++)
                polynomial += radial_coefficient(m, s, power) * pow(r, m + 2 * power);
            sum += (cosines[mode] * cos(m * angle) + sines[mode] * sin(m * angle)) * polynomial;
        }
        return sum;
    }));
}
