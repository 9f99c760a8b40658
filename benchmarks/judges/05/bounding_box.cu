// The bounding box of n points: 512 blocks go through the points in strides of the grid, each
// reduces its six limits in dynamic shared memory, and the host takes their boxes together.
//
//     nvcc -O2 -o bounding_box bounding_box.cu && ./bounding_box 1000000

#include <cfloat>

#include "../host.h"

struct Box {
    float3 low, high;
};

__host__ __device__ inline Box join(Box a, Box b) {
    a.low.x = fminf(a.low.x, b.low.x);
    a.low.y = fminf(a.low.y, b.low.y);
    a.low.z = fminf(a.low.z, b.low.z);
    a.high.x = fmaxf(a.high.x, b.high.x);
    a.high.y = fmaxf(a.high.y, b.high.y);
    a.high.z = fmaxf(a.high.z, b.high.z);
    return a;
}

__host__ __device__ inline Box empty_box() {
    return {make_float3(FLT_MAX, FLT_MAX, FLT_MAX), make_float3(-FLT_MAX, -FLT_MAX, -FLT_MAX)};
}

#pragma cutune kernel bounding_box data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(24 * x)
__global__ void bounding_box(int n, const float3 *points, Box *boxes) {
    extern __shared__ Box partial[];
    Box box = empty_box();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float3 p = points[i];
        box = join(box, {p, p});
    }
    partial[threadIdx.x] = box;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half)
            partial[threadIdx.x] = join(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) boxes[blockIdx.x] = partial[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const int blocks = 512, threads = 256;
    const std::vector<float> numbers = quick_values(3 * (size_t)n, 1);
    const float3 *device_points = (const float3 *)to_device(numbers);
    Box *device_boxes = device_zeros<Box>(blocks);

    bounding_box<<<blocks, threads, threads * sizeof(Box)>>>(n, device_points, device_boxes);
    finish_launches();

    Box found = empty_box(), expected = empty_box();
    for (const Box &box : from_device(device_boxes, blocks)) found = join(found, box);
    for (size_t i = 0; i < numbers.size(); i += 3) {
        const float3 p = make_float3(numbers[i], numbers[i + 1], numbers[i + 2]);
        expected = join(expected, {p, p});
    }
    return verdict(memcmp(&found, &expected, sizeof(Box)) == 0 ? 0.0 : 1.0);
}
