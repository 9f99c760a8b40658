// A trained classifier asked about n samples of 50 features: a matrix-vector product with a row
// per thread, and the logistic function of each sum.
//
//     nvcc -O2 -o logistic_rows logistic_rows.cu && ./logistic_rows 100000

#include "../judge.h"

__global__ void logistic_rows(int samples, int features, const float *matrix, const float *weights,
                              float bias, float *answers) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < samples) {
        float sum = bias;
        for (int j = 0; j < features; j++) sum += weights[j] * matrix[row * features + j];
        answers[row] = 1.0f / (1.0f + expf(-sum));
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 25), features = 50;
    const std::vector<float> matrix = fixed_values((size_t)n * features, 1);
    std::vector<float> weights = fixed_values(features, 2);
    for (float &weight : weights) weight -= 0.5f;
    float *device_matrix = to_device(matrix), *device_weights = to_device(weights);
    float *device_answers = to_device(std::vector<float>(n));

    const int threads = 128;
    logistic_rows<<<(n + threads - 1) / threads, threads>>>(n, features, device_matrix,
                                                            device_weights, 0.1f, device_answers);
    finish_launches();

    return verdict(sampled_error(from_device(device_answers, n), [&](size_t row) {
        float sum = 0.1f;
        for (int j = 0; j < features; j++) sum += weights[j] * matrix[row * features + j];
        return 1.0f / (1.0f + expf(-sum));
    }));
}
