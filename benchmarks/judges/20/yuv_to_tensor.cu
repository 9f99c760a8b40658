// Video into a neural network: a planar YUV 4:2:0 picture of 2n x 2m bytes (m is 9n/16 and one) becomes
// three planes of n x m halves, red, green and blue, each with its mean and deviation.
//
//     nvcc -O2 -o yuv_to_tensor yuv_to_tensor.cu && ./yuv_to_tensor 1500

#include "halves.h"

struct Norm {
    float mean[3], scale[3];
};

__host__ __device__ inline float3 rgb(float y, float u, float v, const Norm &norm) {
    const float luma = 1.164f * (y - 16.0f);
    const float red = luma + 1.596f * (v - 128.0f);
    const float green = luma - 0.813f * (v - 128.0f) - 0.391f * (u - 128.0f);
    const float blue = luma + 2.018f * (u - 128.0f);
    return make_float3((fminf(fmaxf(red, 0.0f), 255.0f) - norm.mean[0]) * norm.scale[0],
                       (fminf(fmaxf(green, 0.0f), 255.0f) - norm.mean[1]) * norm.scale[1],
                       (fminf(fmaxf(blue, 0.0f), 255.0f) - norm.mean[2]) * norm.scale[2]);
}

__global__ void to_tensor(const uchar2 *luma, const unsigned char *u_plane,
                          const unsigned char *v_plane, __half *tensor, Norm norm, int width,
                          int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = (size_t)y * width + x, plane = (size_t)width * height;
    const uchar2 top = luma[(size_t)(2 * y) * width + x];
    const uchar2 bottom = luma[(size_t)(2 * y + 1) * width + x];
    const float mean = (top.x + top.y + bottom.x + bottom.y) * 0.25f;
    const float3 colour = rgb(mean, u_plane[i], v_plane[i], norm);
    tensor[i] = __float2half(colour.x);
    tensor[plane + i] = __float2half(colour.y);
    tensor[2 * plane + i] = __float2half(colour.z);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48, 20000);
    const int width = n, height = 9 * n / 16 + 1;
    const size_t plane = (size_t)width * height;
    const std::vector<uint8_t> luma = quick_bits<uint8_t>(4 * plane, 2031);
    const std::vector<uint8_t> u = quick_bits<uint8_t>(plane, 2032);
    const std::vector<uint8_t> v = quick_bits<uint8_t>(plane, 2033);
    const Norm norm = {{123.7f, 116.3f, 103.5f}, {0.0171f, 0.0175f, 0.0174f}};
    const uint8_t *d_luma = to_device(luma), *d_u = to_device(u), *d_v = to_device(v);
    uint16_t *d_tensor = device_zeros<uint16_t>(3 * plane);

    dim3 block(16, 16);
    dim3 grid((width + 15) / 16, (height + 15) / 16);
    to_tensor<<<grid, block>>>((const uchar2 *)d_luma, d_u, d_v, (__half *)d_tensor, norm, width,
                               height);
    finish_launches();

    const std::vector<uint16_t> tensor = from_device(d_tensor, 3 * plane);
    double error = 0.0;
    for (size_t i = 0; i < plane; i += plane / 1000 + 1) {
        const size_t top = i / width * 4 * width + 2 * (i % width), bottom = top + 2 * width;
        const float mean = (luma[top] + luma[top + 1] + luma[bottom] + luma[bottom + 1]) * 0.25f;
        const float3 colour = rgb(mean, u[i], v[i], norm);
        error = fmax(error, fabs(half_value(tensor[i]) - colour.x));
        error = fmax(error, fabs(half_value(tensor[plane + i]) - colour.y));
        error = fmax(error, fabs(half_value(tensor[2 * plane + i]) - colour.z));
    }
    return verdict(beyond_last_bit(error / 2.64));
}
