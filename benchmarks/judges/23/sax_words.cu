// Time series: n rows of 128 floats, each to a word of eight letters, which say in which eighth of
// a normal distribution the mean of each piece of 16 lies. A row per thread, read by vectors of
// four.
//
//     nvcc -O2 -o sax_words sax_words.cu && ./sax_words 20000

#include "checked.h"

constexpr int kPieces = 8;
constexpr int kVectors = 4;  // In a piece.
constexpr int kLength = kPieces * kVectors * 4;

__global__ void to_words(const float4 *__restrict__ series, uint2 *__restrict__ words, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float4 *from = series + (size_t)row * (kPieces * kVectors);
    float pieces[kPieces], total = 0.0f, squares = 0.0f;
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < kVectors; k++) {
            const float4 v = from[p * kVectors + k];
            sum += v.x + v.y + v.z + v.w;
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
        pieces[p] = sum / (kVectors * 4);
        total += sum;
    }
    const float mean = total / kLength;
    const float deviation = sqrtf(fmaxf(squares / kLength - mean * mean, 1e-12f));

    uint32_t halves[2] = {0, 0};
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
        const float z = (pieces[p] - mean) / deviation;
        const int letter = (z > -1.15f) + (z > -0.67f) + (z > -0.32f) + (z > 0.0f) + (z > 0.32f) +
                           (z > 0.67f) + (z > 1.15f);
        halves[p / 4] |= (uint32_t)('a' + letter) << (p % 4 * 8);
    }
    words[row] = make_uint2(halves[0], halves[1]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 3700000);
    std::vector<float> series = quick_values((size_t)n * kLength, 3131);
    // Each piece has a level of its own, so that all letters appear.
    for (size_t i = 0; i < series.size(); i++)
        series[i] += 4.0f * (float)(mixed((uint32_t)(i / 16)) >> 8) / 16777216.0f;
    const float *d_series = to_device(series);
    uint2 *d_words = device_zeros<uint2>(n);

    const int block = 64;
    to_words<<<(n + block - 1) / block, block>>>((const float4 *)d_series, d_words, n);
    finish_launches();

    const std::vector<uint2> words = from_device(d_words, n);
    std::vector<uint8_t> letters((size_t)n * kPieces);
    memcpy(letters.data(), words.data(), letters.size());
    say_sum("letters", letters);
    return verdict(sampled_wrong(letters.size(), [&](size_t e) {
        const float *row = series.data() + e / kPieces * kLength;
        double total = 0.0, squares = 0.0, piece = 0.0;
        for (int i = 0; i < kLength; i++) {
            total += row[i], squares += (double)row[i] * row[i];
            if (i / 16 == (int)(e % kPieces)) piece += row[i] / 16.0;
        }
        const double mean = total / kLength, spread = sqrt(squares / kLength - mean * mean);
        const double borders[7] = {-1.15, -0.67, -0.32, 0.0, 0.32, 0.67, 1.15};
        // A mean that lies on a border may have either letter.
        int lowest = 'a', highest = 'a';
        for (const double border : borders) {
            lowest += (piece - mean) / spread - 1e-4 > border;
            highest += (piece - mean) / spread + 1e-4 > border;
        }
        return letters[e] >= lowest && letters[e] <= highest;
    }));
}
