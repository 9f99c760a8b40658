// Skewness and kurtosis of n series of 1000 numbers each, FP64, as for tests whether returns are
// normal: a series per block, which reduces its four sums of powers in dynamic shared memory.
//
//     nvcc -O2 -o moments_rows moments_rows.cu && ./moments_rows 10000

#include "../host.h"

#define LENGTH 1000

struct Sums {
    double s1, s2, s3, s4;
};

struct Shape {
    double skewness, kurtosis;
};

__host__ __device__ inline Shape shape(Sums sums, int length) {
    const double mean = sums.s1 / length, second = sums.s2 / length, third = sums.s3 / length;
    const double square = mean * mean, variance = second - square;
    const double m3 = third - 3.0 * mean * second + 2.0 * mean * square;
    const double m4 = sums.s4 / length - 4.0 * mean * third + 6.0 * square * second -
                      3.0 * square * square;
    return {m3 / (variance * sqrt(variance)), m4 / (variance * variance) - 3.0};
}

#pragma cutune kernel moments_rows data(rows, columns) block(x: 32, 64, 128, 256, 512, 1024) \
    grid(keep) shared(32 * x)
__global__ void moments_rows(const double *__restrict__ values, double *__restrict__ skewness,
                             double *__restrict__ kurtosis, int rows, int columns) {
    extern __shared__ Sums powers[];
    const int t = threadIdx.x;
    if (blockIdx.x >= rows) return;
    const double *row = values + (size_t)blockIdx.x * columns;
    double s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0;
    for (int c = t; c < columns; c += blockDim.x) {
        const double value = row[c], square = value * value;
        s1 += value;
        s2 += square;
        s3 += square * value;
        s4 += square * square;
    }
    powers[t] = {s1, s2, s3, s4};
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            powers[t].s1 += powers[t + half].s1;
            powers[t].s2 += powers[t + half].s2;
            powers[t].s3 += powers[t + half].s3;
            powers[t].s4 += powers[t + half].s4;
        }
        __syncthreads();
    }
    if (t == 0) {
        const Shape own = shape(powers[0], columns);
        skewness[blockIdx.x] = own.skewness;
        kurtosis[blockIdx.x] = own.kurtosis;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 500000);
    std::vector<double> values((size_t)n * LENGTH);
    for (size_t e = 0; e < values.size(); e++) {
        const double random = mixed((uint32_t)e) * (1.0 / 4294967296.0);
        values[e] = random * random - 0.3;
    }
    const double *d_values = to_device(values);
    double *d_skewness = device_zeros<double>(n), *d_kurtosis = device_zeros<double>(n);

    const int threads = 256;
    moments_rows<<<n, threads, threads * sizeof(Sums)>>>(d_values, d_skewness, d_kurtosis, n,
                                                         LENGTH);
    finish_launches();

    auto expected = [&](size_t i) {
        const double *row = values.data() + i * LENGTH;
        Sums sums = {0.0, 0.0, 0.0, 0.0};
        for (int c = 0; c < LENGTH; c++) {
            sums.s1 += row[c];
            sums.s2 += row[c] * row[c];
            sums.s3 += row[c] * row[c] * row[c];
            sums.s4 += row[c] * row[c] * row[c] * row[c];
        }
        return shape(sums, LENGTH);
    };
    const double error = sampled_error(from_device(d_skewness, n),
                                       [&](size_t i) { return expected(i).skewness; });
    return verdict(fmax(error, sampled_error(from_device(d_kurtosis, n), [&](size_t i) {
                            return expected(i).kurtosis;
                        })));
}
