// Neural networks: a step of Adam with decay of the weights, n weights and two moments of each.
//
//     nvcc -O2 -o adam_update adam_update.cu && ./adam_update 1000000

#include "checksum.h"

__global__ void adamw_kernel(float *__restrict__ param, const float *__restrict__ grad,
                             float *__restrict__ exp_avg, float *__restrict__ exp_avg_sq, size_t n,
                             float lr, float beta1, float beta2, float eps, float decay,
                             float correction1, float correction2) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = grad[i];
    float m = beta1 * exp_avg[i] + (1.0f - beta1) * g;
    float v = beta2 * exp_avg_sq[i] + (1.0f - beta2) * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    float p = param[i];
    param[i] = p - lr * (m / correction1 / (sqrtf(v / correction2) + eps) + decay * p);
}

int main(int argc, char **argv) {
    const size_t n = size_argument(argc, argv, 3000, 300000000);
    const std::vector<float> param = quick_values(n, 2181), grad = quick_values(n, 2182);
    const std::vector<float> first = quick_values(n, 2183), second = quick_values(n, 2184);
    float *d_param = to_device(param), *d_first = to_device(first), *d_second = to_device(second);
    const float *d_grad = to_device(grad);

    adamw_kernel<<<(unsigned)((n + 255) / 256), 256>>>(d_param, d_grad, d_first, d_second, n, 1e-2f,
                                                       0.9f, 0.999f, 1e-8f, 0.01f, 0.41f, 0.005f);
    finish_launches();

    const std::vector<float> after = from_device(d_param, n), m = from_device(d_first, n);
    print_checksum("param", after);
    print_checksum("exp_avg", m);
    print_checksum("exp_avg_sq", from_device(d_second, n));
    return verdict(sampled_error(after, [&](size_t e) {
        const double m = 0.9 * first[e] + 0.1 * grad[e];
        const double v = 0.999 * second[e] + 0.001 * grad[e] * grad[e];
        return param[e] - 1e-2 * (m / 0.41 / (sqrt(v / 0.005) + 1e-8) + 0.01 * param[e]);
    }));
}
