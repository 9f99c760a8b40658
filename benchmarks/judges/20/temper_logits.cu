// Large language models: before a token is drawn, n rows of 32000 logits are changed in place.
// Tokens that have been said (a bit each) are punished, each token has a bias, each row a
// temperature.
//
//     nvcc -O2 -o temper_logits temper_logits.cu && ./temper_logits 64

#include "../host.h"

#define WORDS 32000
#define PUNISHMENT 1.15f

__host__ __device__ inline float tempered(float logit, bool was_said, float bias,
                                          float temperature) {
    if (was_said) logit = logit > 0.0f ? logit / PUNISHMENT : logit * PUNISHMENT;
    return (logit + bias) / temperature;
}

__global__ void temper(float *logits, const unsigned *said, const float *biases,
                       const float *temperatures, int vocabulary, int rows) {
    const int word = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (word >= vocabulary || row >= rows) return;
    const bool was_said = said[(size_t)row * (vocabulary / 32) + word / 32] >> (word % 32) & 1;
    float *logit = logits + (size_t)row * vocabulary + word;
    *logit = tempered(*logit, was_said, biases[word], temperatures[row]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 16000);
    const size_t count = (size_t)n * WORDS;
    std::vector<float> logits = quick_values(count, 2021);
    for (float &logit : logits) logit = 30.0f * logit - 20.0f;
    std::vector<unsigned> said = quick_bits<unsigned>(count / 32, 2022);
    for (unsigned &bits : said) bits &= bits >> 7 & bits >> 13;
    const std::vector<float> biases = quick_values(WORDS, 2023);
    std::vector<float> temperatures = quick_values(n, 2024);
    for (float &temperature : temperatures) temperature = 0.4f + temperature;
    float *d_logits = to_device(logits);
    const unsigned *d_said = to_device(said);
    const float *d_biases = to_device(biases), *d_temperatures = to_device(temperatures);

    const int threads = 1024;
    dim3 grid((WORDS + threads - 1) / threads, n);
    temper<<<grid, threads>>>(d_logits, d_said, d_biases, d_temperatures, WORDS, n);
    finish_launches();

    const std::vector<float> changed = from_device(d_logits, count);
    return verdict(sampled_error(changed, [&](size_t e) {
        const bool was_said = said[e / 32] >> (e % 32) & 1;
        return tempered(logits[e], was_said, biases[e % WORDS], temperatures[e / WORDS]);
    }));
}
