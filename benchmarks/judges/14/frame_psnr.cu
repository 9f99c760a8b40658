// Quality of n coded video frames of 640 x 360 bytes: the sum of squared differences from the
// original, per frame. Each block adds up in dynamic shared memory and adds its sum to the frame's.
//
//     nvcc -O2 -o frame_psnr frame_psnr.cu && ./frame_psnr 200

#include "../host.h"

#define FRAME_BYTES (640 * 360)

__device__ inline unsigned squared(int a, int b) { return (unsigned)((a - b) * (a - b)); }

#pragma cutune kernel squared_differences data(words) block(x: 32, 64, 128, 256, 512, 1024) \
    grid(ceil(words / x)) shared(4 * x)
__global__ void squared_differences(const uchar4 *__restrict__ original,
                                    const uchar4 *__restrict__ coded,
                                    unsigned long long *__restrict__ sums, int words) {
    extern __shared__ unsigned partial[];
    const int frame = blockIdx.y;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned own = 0;
    if (i < words) {
        const uchar4 a = original[(size_t)frame * words + i];
        const uchar4 b = coded[(size_t)frame * words + i];
        own = squared(a.x, b.x) + squared(a.y, b.y) + squared(a.z, b.z) + squared(a.w, b.w);
    }
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&sums[frame], (unsigned long long)partial[0]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 16000);
    const int words = FRAME_BYTES / 4;
    const std::vector<unsigned char> original =
        quick_bits<unsigned char>((size_t)n * FRAME_BYTES, 21);
    std::vector<unsigned char> coded(original);
    for (size_t i = 0; i < coded.size(); i += 3) coded[i] ^= (unsigned char)(i / 640 % 16);
    const unsigned char *d_original = to_device(original);
    const unsigned char *d_coded = to_device(coded);
    unsigned long long *d_sums = device_zeros<unsigned long long>(n);

    int threads = 256;
    dim3 grid((words + threads - 1) / threads, n);
    squared_differences<<<grid, threads, threads * sizeof(unsigned)>>>(
        (const uchar4 *)d_original, (const uchar4 *)d_coded, d_sums, words);
    finish_launches();

    const std::vector<unsigned long long> sums = from_device(d_sums, n);
    return verdict(sampled_error(sums, [&](size_t frame) {
        unsigned long long sum = 0;
        for (size_t i = frame * FRAME_BYTES; i < (frame + 1) * FRAME_BYTES; i++) {
            const int difference = original[i] - coded[i];
            sum += difference * difference;
        }
        return sum;
    }));
}
