// Charge of n particles on a periodic mesh of 256 x 256 points: each particle adds its share to the
// four points around it, atomically.
//
//     nvcc -O2 -o charge_deposit charge_deposit.cu && ./charge_deposit 100000

#include "../judge.h"

#define SIDE 256

__global__ void charge_deposit(int n, const float *x, const float *y, float charge,
                               float *density) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int left = (int)x[i], top = (int)y[i];
    const float fx = x[i] - left, fy = y[i] - top;
    const int right = (left + 1) % SIDE, bottom = (top + 1) % SIDE;
    atomicAdd(&density[top * SIDE + left], charge * (1.0f - fx) * (1.0f - fy));
    atomicAdd(&density[top * SIDE + right], charge * fx * (1.0f - fy));
    atomicAdd(&density[bottom * SIDE + left], charge * (1.0f - fx) * fy);
    atomicAdd(&density[bottom * SIDE + right], charge * fx * fy);
}

static std::vector<float> positions(int n, unsigned seed) {
    std::vector<float> values = fixed_values(n, seed);
    for (float &value : values) value *= SIDE;
    return values;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> x = positions(n, 1), y = positions(n, 2);
    const float *device_x = to_device(x), *device_y = to_device(y);
    float *device_density = to_device(std::vector<float>(SIDE * SIDE));

    const float charge = 0.5f;
    const unsigned block = 256;
    charge_deposit<<<blocks_for(n, block), block>>>(n, device_x, device_y, charge, device_density);
    finish_launches();

    std::vector<double> expected(SIDE * SIDE);
    for (int i = 0; i < n; i++) {
        const int left = (int)x[i], top = (int)y[i];
        for (int corner = 0; corner < 4; corner++) {
            const int column = (left + corner % 2) % SIDE, row = (top + corner / 2) % SIDE;
            const double share_x = corner % 2 ? x[i] - left : 1.0 - (x[i] - left);
            const double share_y = corner / 2 ? y[i] - top : 1.0 - (y[i] - top);
            expected[row * SIDE + column] += charge * share_x * share_y;
        }
    }
    return verdict(sampled_error(from_device(device_density, SIDE * SIDE),
                                 [&](size_t e) { return expected[e]; }));
}
