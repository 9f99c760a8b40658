// Video: by how much each of n bytes differs from the frame before, and whether that is motion.
//
//     nvcc -O2 -o frame_difference frame_difference.cu && ./frame_difference 2073600

#include "checksum.h"

__global__ void frame_diff_kernel(const uint8_t *current, const uint8_t *previous, uint8_t *diff,
                                  uint8_t *motion, int n_pixels, int limit) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n_pixels) {
        int d = abs((int)current[tid] - (int)previous[tid]);
        diff[tid] = (uint8_t)d;
        motion[tid] = d > limit;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 500000000);
    const std::vector<uint8_t> current = quick_bits<uint8_t>(n, 2151);
    const std::vector<uint8_t> previous = quick_bits<uint8_t>(n, 2152);
    const uint8_t *d_current = to_device(current), *d_previous = to_device(previous);
    uint8_t *d_diff = device_zeros<uint8_t>(n), *d_motion = device_zeros<uint8_t>(n);

    frame_diff_kernel<<<(n + 1023) / 1024, 1024>>>(d_current, d_previous, d_diff, d_motion, n, 40);
    finish_launches();

    const std::vector<uint8_t> diff = from_device(d_diff, n), motion = from_device(d_motion, n);
    print_checksum("diff", diff);
    print_checksum("motion", motion);
    auto wanted = [&](size_t e) { return abs((int)current[e] - (int)previous[e]); };
    return verdict(fmax(sampled_error(diff, wanted),
                        sampled_error(motion, [&](size_t e) { return wanted(e) > 40; })));
}
