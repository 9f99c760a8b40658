// Exponential moving averages along 512 series of n values, a block per series. Each thread takes a
// piece of a stretch of 4096 values; a scan in shared memory over all pieces, each a linear
// function of what comes before it, says where a piece begins.
//
//     nvcc -O2 -o ema_rows ema_rows.cu && ./ema_rows 10000

#include "../judge.h"

#define SERIES 512
#define STRETCH 4096

#pragma cutune kernel ema_rows data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(8 * x)
__global__ void ema_rows(int n, float keep, const float *values, float *averages) {
    extern __shared__ float2 pieces[];
    const float *series = values + blockIdx.x * n;
    const int t = threadIdx.x, piece = STRETCH / blockDim.x;
    float before = 0.0f;
    for (int start = 0; start < n; start += STRETCH) {
        const int first = min(start + t * piece, n), end = min(first + piece, n);
        float factor = 1.0f, own = 0.0f;
        for (int i = first; i < end; i++) {
            own = keep * own + (1.0f - keep) * series[i];
            factor *= keep;
        }
        pieces[t] = make_float2(factor, own);
        __syncthreads();
        for (int reach = 1; reach < (int)blockDim.x; reach *= 2) {
            const float2 earlier = t >= reach ? pieces[t - reach] : make_float2(1.0f, 0.0f);
            __syncthreads();
            const float2 later = pieces[t];
            pieces[t] = make_float2(earlier.x * later.x, later.x * earlier.y + later.y);
            __syncthreads();
        }
        const float2 here = t > 0 ? pieces[t - 1] : make_float2(1.0f, 0.0f);
        const float2 whole = pieces[blockDim.x - 1];
        float average = here.x * before + here.y;
        for (int i = first; i < end; i++) {
            average = keep * average + (1.0f - keep) * series[i];
            averages[blockIdx.x * n + i] = average;
        }
        before = whole.x * before + whole.y;
        __syncthreads();
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 21);
    const size_t count = (size_t)SERIES * n;
    const float keep = 0.95f;
    const std::vector<float> values = fixed_values(count, 1);
    const float *device_values = to_device(values);
    float *device_averages = to_device(std::vector<float>(count));

    const int threads = 256;
    ema_rows<<<SERIES, threads, threads * sizeof(float2)>>>(n, keep, device_values,
                                                            device_averages);
    finish_launches();

    return verdict(sampled_error(from_device(device_averages, count), [&](size_t e) {
        // What lies 1000 values back counts for nothing.
        const size_t place = e % n, first = place > 1000 ? place - 1000 : 0;
        double average = 0.0;
        for (size_t i = e - place + first; i <= e; i++)
            average = keep * average + (1.0 - keep) * values[i];
        return average;
    }));
}
