// Focal loss of a detector of objects, and its gradient: n places with 80 classes each, scores and
// gradients in half precision, and the class that each place has, if any.
//
//     nvcc -O2 -o focal_loss focal_loss.cu && ./focal_loss 10000

#include <cuda_fp16.h>

#include "../host.h"

#define CLASSES 80

// The loss and its derivative for a score whose class is there or not; both squared focus.
__host__ __device__ inline float2 focal(float score, bool there) {
    const float sign = there ? 1.0f : -1.0f, weight = there ? 0.25f : 0.75f;
    const float z = sign * score;
    const float p = 1.0f / (1.0f + expf(-z)), rest = 1.0f - p;
    const float logarithm = fminf(z, 0.0f) - log1pf(expf(-fabsf(z)));
    return make_float2(-weight * rest * rest * logarithm,
                       sign * weight * rest * rest * (2.0f * p * logarithm - rest));
}

__global__ void focal_loss(int count, const __half *__restrict__ scores,
                           const int *__restrict__ classes, float *__restrict__ losses,
                           __half *__restrict__ gradients) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const int wanted = classes[e / CLASSES];
    // Places with a negative class are neither objects nor background.
    if (wanted < 0) {
        losses[e] = 0.0f;
        gradients[e] = __float2half(0.0f);
        return;
    }
    const float2 result = focal(__half2float(scores[e]), e % CLASSES == wanted);
    losses[e] = result.x;
    gradients[e] = __float2half(result.y);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 1 << 24);
    const int count = n * CLASSES;
    // Scores with either sign, between 1 and 4 or so.
    std::vector<uint16_t> bits = quick_bits<uint16_t>(count, 1);
    for (uint16_t &one : bits) one = (uint16_t)((one & 0x87ff) | 0x3c00);
    std::vector<__half> scores(count);
    memcpy((void *)scores.data(), bits.data(), bits.size() * sizeof(__half));
    std::vector<int> classes(n);
    for (int place = 0; place < n; place++)
        classes[place] = (int)(mixed((uint32_t)place) % (CLASSES + 21)) - 1;
    const __half *d_scores = to_device(scores);
    const int *d_classes = to_device(classes);
    float *d_losses = device_zeros<float>(count);
    __half *d_gradients = device_zeros<__half>(count);

    const int threads = 512;
    focal_loss<<<(count + threads - 1) / threads, threads>>>(count, d_scores, d_classes, d_losses,
                                                             d_gradients);
    finish_launches();

    const auto expected = [&](size_t e) {
        const int wanted = classes[e / CLASSES];
        if (wanted < 0) return make_float2(0.0f, 0.0f);
        return focal(__half2float(scores[e]), (int)(e % CLASSES) == wanted);
    };
    const double error =
        sampled_error(from_device(d_losses, count), [&](size_t e) { return expected(e).x; });
    const std::vector<__half> halves = from_device(d_gradients, count);
    const size_t step = count / 1000 + 1;
    std::vector<float> found;
    for (size_t e = 0; e < halves.size(); e += step) found.push_back(__half2float(halves[e]));
    // Gradients are rounded to eleven bits, and the two sides may round to different neighbours.
    const double rounded = sampled_error(found, [&](size_t s) { return expected(s * step).y; });
    return verdict(error + (rounded < 1e-3 ? 0.0 : rounded));
}
