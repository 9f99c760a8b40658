// The recurrence h[t] = a[t] h[t - 1] + b[t] of a state-space model along n sequences of 4000
// steps, a sequence per block. A thread does four steps on its own; what the threads' steps amount
// to is scanned in dynamic shared memory.
//
//     nvcc -O2 -o ssm_scan ssm_scan.cu && ./ssm_scan 500

#include "../host.h"

#define STEPS 4000
#define ITEMS 4

#pragma cutune kernel ssm_scan data(sequences) block(x: 32..1024) grid(keep) shared(8 * x)
__global__ void ssm_scan(int sequences, const float *a, const float *b, float *h) {
    extern __shared__ float2 pieces[];  // factor and summand of all steps so far
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * STEPS;
    if ((int)blockIdx.x >= sequences) return;
    float carry = 0.0f;
    for (int start = 0; start < STEPS; start += ITEMS * blockDim.x) {
        const int first = start + ITEMS * t;
        float factor[ITEMS], summand[ITEMS];
        float2 mine = make_float2(1.0f, 0.0f);
        for (int k = 0; k < ITEMS; k++) {
            const bool inside = first + k < STEPS;
            factor[k] = inside ? a[row + first + k] : 1.0f;
            summand[k] = inside ? b[row + first + k] : 0.0f;
            mine = make_float2(mine.x * factor[k], mine.y * factor[k] + summand[k]);
        }
        pieces[t] = mine;
        __syncthreads();
        for (int reach = 1; reach < (int)blockDim.x; reach <<= 1) {
            float2 before = make_float2(1.0f, 0.0f);
            if (t >= reach) before = pieces[t - reach];
            __syncthreads();
            mine = make_float2(before.x * mine.x, before.y * mine.x + mine.y);
            pieces[t] = mine;
            __syncthreads();
        }
        float state = carry;
        if (t > 0) state = pieces[t - 1].x * carry + pieces[t - 1].y;
        for (int k = 0; k < ITEMS; k++) {
            state = factor[k] * state + summand[k];
            if (first + k < STEPS) h[row + first + k] = state;
        }
        const float2 all = pieces[blockDim.x - 1];
        carry = all.x * carry + all.y;
        __syncthreads();
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 19);
    const size_t count = (size_t)n * STEPS;
    std::vector<float> a = quick_values(count, 1);
    const std::vector<float> b = quick_values(count, 2);
    for (float &factor : a) factor = 0.8f + 0.2f * factor;
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_h = device_zeros<float>(count);

    const int threads = 128;
    ssm_scan<<<n, threads, threads * sizeof(float2)>>>(n, d_a, d_b, d_h);
    finish_launches();

    return verdict(sampled_error(from_device(d_h, count), [&](size_t e) {
        double state = 0.0;
        for (size_t i = e / STEPS * STEPS; i <= e; i++) state = a[i] * state + b[i];
        return state;
    }));
}
