// Brightness and centre of each of n images of 96 x 80 bytes. A block has an image; three sums of
// whole numbers are reduced in dynamic shared memory.
//
//     nvcc -O2 -o image_moments image_moments.cu && ./image_moments 1000

#include "../host.h"

#define WIDTH 96
#define HEIGHT 80

#pragma cutune kernel image_moments data(images) block(x: 32, 64, 128, 256, 512, 1024) \
    grid(keep) shared(12 * x)
__global__ void image_moments(int images, const unsigned char *__restrict__ pixels, float *mass,
                              float2 *centre) {
    extern __shared__ int sums[];
    int *all = sums, *along_x = sums + blockDim.x, *along_y = sums + 2 * blockDim.x;
    const int image = blockIdx.x, t = threadIdx.x;
    if (image >= images) return;
    const unsigned char *own = pixels + (size_t)image * WIDTH * HEIGHT;
    int m00 = 0, m10 = 0, m01 = 0;
    for (int e = t; e < WIDTH * HEIGHT; e += blockDim.x) {
        const int value = own[e];
        m00 += value;
        m10 += value * (e % WIDTH);
        m01 += value * (e / WIDTH);
    }
    all[t] = m00;
    along_x[t] = m10;
    along_y[t] = m01;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            all[t] += all[t + half];
            along_x[t] += along_x[t + half];
            along_y[t] += along_y[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        const float total = fmaxf((float)all[0], 1.0f);
        mass[image] = total;
        centre[image] = make_float2((float)along_x[0] / total, (float)along_y[0] / total);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 18);
    const std::vector<unsigned char> pixels =
        quick_bits<unsigned char>((size_t)n * WIDTH * HEIGHT, 1);
    const unsigned char *d_pixels = to_device(pixels);
    float *d_mass = device_zeros<float>(n), *d_centre = device_zeros<float>(2 * (size_t)n);

    const int threads = 256;
    image_moments<<<n, threads, 3 * threads * sizeof(int)>>>(n, d_pixels, d_mass,
                                                             (float2 *)d_centre);
    finish_launches();

    const auto moment = [&](size_t image, int by_x, int by_y) {
        double sum = 0.0;
        for (int e = 0; e < WIDTH * HEIGHT; e++)
            sum += pixels[image * WIDTH * HEIGHT + e] * (by_x ? e % WIDTH : by_y ? e / WIDTH : 1);
        return sum;
    };
    const double error =
        sampled_error(from_device(d_mass, n), [&](size_t image) { return moment(image, 0, 0); });
    return verdict(error + sampled_error(from_device(d_centre, 2 * (size_t)n), [&](size_t e) {
        return moment(e / 2, e % 2 == 0, e % 2 == 1) / moment(e / 2, 0, 0);
    }));
}
