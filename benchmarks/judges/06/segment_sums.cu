// Running sums that begin anew where a flag is set, in n rows of 3000 numbers. A block has a row
// and scans as many numbers at a time as it has threads, sums and flags together, in shared memory.
//
//     nvcc -O2 -o segment_sums segment_sums.cu && ./segment_sums 1000

#include "../host.h"

#define LENGTH 3000

#pragma cutune kernel segment_sums data(rows) block(x: 32..1024) grid(keep) shared(16 * x)
__global__ void segment_sums(int rows, const float *values, const unsigned char *begins,
                             float *sums) {
    extern __shared__ float2 scanned[];  // a sum, and whether a segment began; two of each
    const int row = blockIdx.x, t = threadIdx.x, threads = blockDim.x;
    if (row >= rows) return;
    float carried = 0.0f;
    for (int start = 0; start < LENGTH; start += threads) {
        const int column = start + t;
        const size_t at = (size_t)row * LENGTH + column;
        float2 *now = scanned, *next = scanned + threads;
        now[t] = make_float2(0.0f, 0.0f);
        if (column < LENGTH) now[t] = make_float2(values[at], begins[at] ? 1.0f : 0.0f);
        __syncthreads();
        for (int reach = 1; reach < threads; reach *= 2) {
            float2 mine = now[t];
            if (t >= reach && mine.y == 0.0f) {
                mine.x += now[t - reach].x;
                mine.y = now[t - reach].y;
            }
            next[t] = mine;
            __syncthreads();
            float2 *swapped = now;
            now = next;
            next = swapped;
        }
        if (column < LENGTH) sums[at] = now[t].x + (now[t].y == 0.0f ? carried : 0.0f);
        const float2 last = now[threads - 1];
        carried = last.y == 0.0f ? carried + last.x : last.x;
        __syncthreads();
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10, 1 << 19);
    const size_t count = (size_t)n * LENGTH;
    const std::vector<float> values = quick_values(count, 1);
    std::vector<unsigned char> begins = quick_bits<unsigned char>(count, 2);
    for (unsigned char &flag : begins) flag = flag < 3;
    const float *d_values = to_device(values);
    const unsigned char *d_begins = to_device(begins);
    float *d_sums = device_zeros<float>(count);

    const int threads = 256;
    segment_sums<<<n, threads, 2 * threads * sizeof(float2)>>>(n, d_values, d_begins, d_sums);
    finish_launches();

    return verdict(sampled_error(from_device(d_sums, count), [&](size_t e) {
        const size_t row_start = e / LENGTH * LENGTH;
        size_t first = e;
        while (first > row_start && !begins[first]) first--;
        float sum = 0.0f;
        for (size_t i = first; i <= e; i++) sum += values[i];
        return sum;
    }));
}
