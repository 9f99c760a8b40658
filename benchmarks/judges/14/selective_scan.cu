// The recurrence of a state space layer, h[t] = exp(-delta[t]) h[t - 1] + delta[t] x[t], for n
// channels of 1000 steps each. A block scans its channel piece by piece, each piece in dynamic
// shared memory as pairs of a factor and a summand.
//
//     nvcc -O2 -o selective_scan selective_scan.cu && ./selective_scan 5000

#include "../host.h"

#define STEPS 1000

#pragma cutune kernel recurrence data(steps) block(x: 32, 64, 128, 256, 512, 1024) \
    grid(keep) shared(8 * x)
__global__ void recurrence(const float *__restrict__ delta, const float *__restrict__ input,
                           float *__restrict__ states, int steps) {
    extern __shared__ float2 pairs[];
    const size_t row = (size_t)blockIdx.x * steps;
    const int tid = threadIdx.x;
    float carry = 0.0f;
    for (int start = 0; start < steps; start += blockDim.x) {
        const int t = start + tid;
        float2 own = make_float2(1.0f, 0.0f);
        if (t < steps) {
            const float d = delta[row + t];
            own = make_float2(__expf(-d), d * input[row + t]);
        }
        pairs[tid] = own;
        __syncthreads();
        for (int distance = 1; distance < blockDim.x; distance *= 2) {
            float2 before = make_float2(1.0f, 0.0f);
            if (tid >= distance) before = pairs[tid - distance];
            __syncthreads();
            own.y += own.x * before.y;
            own.x *= before.x;
            pairs[tid] = own;
            __syncthreads();
        }
        if (t < steps) states[row + t] = own.x * carry + own.y;
        const float2 last = pairs[blockDim.x - 1];
        carry = last.x * carry + last.y;
        __syncthreads();
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 200000);
    const size_t count = (size_t)n * STEPS;
    const std::vector<float> delta = quick_values(count, 31);
    const std::vector<float> input = quick_values(count, 32);
    const float *d_delta = to_device(delta);
    const float *d_input = to_device(input);
    float *d_states = device_zeros<float>(count);

    const int block = 128;
    recurrence<<<n, block, block * sizeof(float2)>>>(d_delta, d_input, d_states, STEPS);
    finish_launches();

    const std::vector<float> states = from_device(d_states, count);
    return verdict(sampled_error(states, [&](size_t e) {
        float h = 0.0f;
        for (size_t i = e / STEPS * STEPS; i <= e; i++)
            h = expf(-delta[i]) * h + delta[i] * input[i];
        return h;
    }));
}
