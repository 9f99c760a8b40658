// Images: n bytes become 255 where they are above a threshold, and 0 elsewhere.
//
//     nvcc -O2 -o threshold_bytes threshold_bytes.cu && ./threshold_bytes 2000003

#include "checksum.h"

typedef unsigned char uchar;

__global__ void threshold(const uchar *__restrict__ in, uchar *__restrict__ out, int n, uchar t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] > t ? 255 : 0;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1000000000);
    const uchar level = 141;
    const std::vector<uchar> in = quick_bits<uchar>(n, 2111);
    const uchar *d_in = to_device(in);
    uchar *d_out = device_zeros<uchar>(n);

    const int blockSize = 256;
    const int gridSize = (n + blockSize - 1) / blockSize;
    threshold<<<gridSize, blockSize>>>(d_in, d_out, n, level);
    finish_launches();

    const std::vector<uchar> out = from_device(d_out, n);
    print_checksum("out", out);
    return verdict(sampled_error(out, [&](size_t e) { return in[e] > level ? 255 : 0; }));
}
