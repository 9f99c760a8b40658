// Machine learning, first try: probabilities of 40 classes for n samples, a row per thread.
//
//     nvcc -O2 -o naive_softmax naive_softmax.cu && ./naive_softmax 20000

#include "summed.h"

#define NUM_CLASSES 40

__global__ void softmax_kernel(const float *logits, float *probs, int batch_size, int num_classes) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < batch_size) {
        // find max for numerical stability
        float max_val = logits[row * num_classes];
        for (int i = 1; i < num_classes; i++) {
            max_val = fmaxf(max_val, logits[row * num_classes + i]);
        }
        float sum = 0.0f;
        for (int i = 0; i < num_classes; i++) {
            probs[row * num_classes + i] = expf(logits[row * num_classes + i] - max_val);
            sum += probs[row * num_classes + i];
        }
        for (int i = 0; i < num_classes; i++) {
            probs[row * num_classes + i] /= sum;
        }
    }
}

int main(int argc, char **argv) {
    const int batch = size_argument(argc, argv, 100, 10000000);
    const size_t count = (size_t)batch * NUM_CLASSES;
    std::vector<float> logits = quick_values(count, 2281);
    for (float &v : logits) v = 10.0f * v - 5.0f;
    const float *d_logits = to_device(logits);
    float *d_probs = device_zeros<float>(count);

    int block_size = 128;
    int num_blocks = (batch + block_size - 1) / block_size;
    softmax_kernel<<<num_blocks, block_size>>>(d_logits, d_probs, batch, NUM_CLASSES);
    finish_launches();

    const std::vector<float> probs = from_device(d_probs, count);
    double weighted = 0.0;
    for (size_t i = 0; i < count; i++) weighted += probs[i] * (double)(i % NUM_CLASSES);
    printf("checksum of probabilities: %.10g\n", weighted);
    return verdict(sampled_error(probs, [&](size_t e) {
        const float *row = &logits[e / NUM_CLASSES * NUM_CLASSES];
        double sum = 0.0;
        for (int i = 0; i < NUM_CLASSES; i++) sum += exp((double)row[i]);
        return exp((double)logits[e]) / sum;
    }));
}
