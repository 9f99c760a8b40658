// The patches of 3 x 3 pixels of an n x n image with 64 channels as the columns of a matrix, for a
// convolution by a matrix product. A thread copies the nine pixels of one patch in one channel.
//
//     nvcc -O2 -o im2col im2col.cu && ./im2col 100

#include "../host.h"

#define CUDA_KERNEL_LOOP(i, n) \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

const int CUDA_NUM_THREADS = 512;

inline int GET_BLOCKS(const int N) { return (N + CUDA_NUM_THREADS - 1) / CUDA_NUM_THREADS; }

template <typename Dtype>
__global__ void im2col_kernel(const int n, const Dtype *data_im, const int height, const int width,
                              const int ksize, const int pad, const int height_col,
                              const int width_col, Dtype *data_col) {
    CUDA_KERNEL_LOOP(index, n) {
        const int w_out = index % width_col;
        const int h_index = index / width_col;
        const int h_out = h_index % height_col;
        const int channel = h_index / height_col;
        const int h_in = h_out - pad;
        const int w_in = w_out - pad;
        Dtype *col = data_col +
                     ((size_t)channel * ksize * ksize * height_col + h_out) * width_col + w_out;
        const Dtype *im = data_im + (channel * height + h_in) * width + w_in;
        for (int i = 0; i < ksize; ++i) {
            for (int j = 0; j < ksize; ++j) {
                const int h = h_in + i;
                const int w = w_in + j;
                *col = (h >= 0 && w >= 0 && h < height && w < width) ? im[i * width + j] : 0;
                col += height_col * width_col;
            }
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 2000);
    const int channels = 64, ksize = 3, pad = 1;
    const int num_kernels = channels * n * n;
    const size_t count = (size_t)num_kernels * ksize * ksize;
    const std::vector<float> image = quick_values(num_kernels, 1);
    const float *data_im = to_device(image);
    float *data_col = device_zeros<float>(count);

    im2col_kernel<float><<<GET_BLOCKS(num_kernels), CUDA_NUM_THREADS>>>(
        num_kernels, data_im, n, n, ksize, pad, n, n, data_col);
    finish_launches();

    return verdict(sampled_error(from_device(data_col, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n % n), row = (int)(e / n / n);
        const int channel = row / 9, w = x + row % 3 - 1, h = y + row / 3 % 3 - 1;
        if (h < 0 || w < 0 || h >= n || w >= n) return 0.0f;
        return image[((size_t)channel * n + h) * n + w];
    }));
}
