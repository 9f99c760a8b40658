// Large language models: n rows of 8192 weights of eight bits become halves, with a scale and a
// zero for each group of 128. A thread does four neighbours.
//
//     nvcc -O2 -o dequant_groups dequant_groups.cu && ./dequant_groups 800

#include "halves.h"

#define COLUMNS 8192
#define GROUP 128
#define GROUPS (COLUMNS / GROUP)

struct Group {
    float scale;
    int zero;
};

struct alignas(8) FourHalves {
    __half2 low, high;
};

__global__ void dequantise(const char4 *weights, const Group *groups, FourHalves *out, int rows) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < COLUMNS / 4 && row < rows) {
        size_t i = (size_t)row * (COLUMNS / 4) + column;
        char4 w = weights[i];
        Group group = groups[(size_t)row * GROUPS + column / (GROUP / 4)];
        FourHalves four;
        four.low = __floats2half2_rn(group.scale * (w.x - group.zero),
                                     group.scale * (w.y - group.zero));
        four.high = __floats2half2_rn(group.scale * (w.z - group.zero),
                                      group.scale * (w.w - group.zero));
        out[i] = four;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 65000);
    const size_t count = (size_t)n * COLUMNS;
    const std::vector<int8_t> weights = quick_bits<int8_t>(count, 2011);
    std::vector<Group> groups((size_t)n * GROUPS);
    for (size_t g = 0; g < groups.size(); g++) {
        const uint32_t bits = mixed((uint32_t)g + 2012u);
        groups[g].scale = 0.002f + (bits & 1023) * 1e-5f;
        groups[g].zero = (int)(bits >> 20 & 15) - 8;
    }
    const int8_t *d_weights = to_device(weights);
    const Group *d_groups = to_device(groups);
    uint16_t *d_out = device_zeros<uint16_t>(count);

    dim3 block(32, 8);
    dim3 grid((COLUMNS / 4 + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    dequantise<<<grid, block>>>((const char4 *)d_weights, d_groups, (FourHalves *)d_out, n);
    finish_launches();

    const std::vector<uint16_t> out = from_device(d_out, count);
    double error = 0.0;
    for (size_t i = 0; i < count; i += count / 1000 + 1) {
        const Group group = groups[i / GROUP];
        error = fmax(error, fabs(half_value(out[i]) - group.scale * (weights[i] - group.zero)));
    }
    return verdict(beyond_last_bit(error));
}
