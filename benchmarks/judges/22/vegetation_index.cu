// Remote sensing: the vegetation index of n pixels of four bands (blue, green, red, infrared), and
// a class of the land by thresholds.
//
//     nvcc -O2 -o vegetation_index vegetation_index.cu && ./vegetation_index 2000000

#include "summed.h"

enum LandClass : unsigned char { WATER, BARE, SPARSE, DENSE, SHADE };

__global__ void ndvi_kernel(const uchar4 *bands, float *ndvi, unsigned char *classes, int count) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < count) {
        uchar4 p = bands[idx];
        float nir = (float)p.w;
        float red = (float)p.z;
        float v = (nir - red) / (nir + red + 1.0f);
        unsigned char c;
        if (p.x + p.y + p.z + p.w < 60)
            c = SHADE;
        else if (v < -0.1f)
            c = WATER;
        else if (v < 0.15f)
            c = BARE;
        else if (v < 0.4f)
            c = SPARSE;
        else
            c = DENSE;
        ndvi[idx] = v;
        classes[idx] = c;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 200000000);
    const std::vector<uint8_t> bands = quick_bits<uint8_t>(4 * (size_t)n, 2221);
    const uint8_t *d_bands = to_device(bands);
    float *d_ndvi = device_zeros<float>(n);
    unsigned char *d_classes = device_zeros<unsigned char>(n);

    int threadsPerBlock = 256;
    int blocksPerGrid = (n + threadsPerBlock - 1) / threadsPerBlock;
    ndvi_kernel<<<blocksPerGrid, threadsPerBlock>>>((const uchar4 *)d_bands, d_ndvi, d_classes, n);
    finish_launches();

    const std::vector<float> ndvi = from_device(d_ndvi, n);
    say_sum("index", ndvi);
    say_sum("classes", from_device(d_classes, n));
    return verdict(sampled_error(ndvi, [&](size_t e) {
        const float nir = bands[4 * e + 3], red = bands[4 * e + 2];
        return (nir - red) / (nir + red + 1.0f);
    }));
}
