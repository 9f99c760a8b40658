// A finite-volume step of the Euler equations in one dimension, in double precision: fluxes of
// Harten, Lax and van Leer at both sides of each of n cells.
//
//     nvcc -O2 -o euler_hll euler_hll.cu && ./euler_hll 1000000

#include "../judge.h"

#define GAMMA 1.4

struct State {
    double density, momentum, energy;
};

struct Cells {
    double *density, *momentum, *energy;
};

__host__ __device__ inline State flux(State left, State right) {
    const double ul = left.momentum / left.density, ur = right.momentum / right.density;
    const double pl = (GAMMA - 1.0) * (left.energy - 0.5 * left.momentum * ul);
    const double pr = (GAMMA - 1.0) * (right.energy - 0.5 * right.momentum * ur);
    const double cl = sqrt(GAMMA * pl / left.density), cr = sqrt(GAMMA * pr / right.density);
    const double slow = fmin(ul - cl, ur - cr), fast = fmax(ul + cl, ur + cr);
    const State fl = {left.momentum, left.momentum * ul + pl, (left.energy + pl) * ul};
    const State fr = {right.momentum, right.momentum * ur + pr, (right.energy + pr) * ur};
    if (slow >= 0.0) return fl;
    if (fast <= 0.0) return fr;
    const double scale = 1.0 / (fast - slow), both = slow * fast;
    return {scale * (fast * fl.density - slow * fr.density + both * (right.density - left.density)),
            scale * (fast * fl.momentum - slow * fr.momentum +
                     both * (right.momentum - left.momentum)),
            scale * (fast * fl.energy - slow * fr.energy + both * (right.energy - left.energy))};
}

__device__ inline State load(Cells cells, int i) {
    return {cells.density[i], cells.momentum[i], cells.energy[i]};
}

__global__ void euler_hll(int n, double ratio, Cells before, Cells after) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const State own = load(before, i);
    const State in = flux(load(before, max(i - 1, 0)), own);
    const State out = flux(own, load(before, min(i + 1, n - 1)));
    after.density[i] = own.density + ratio * (in.density - out.density);
    after.momentum[i] = own.momentum + ratio * (in.momentum - out.momentum);
    after.energy[i] = own.energy + ratio * (in.energy - out.energy);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 27);
    const double ratio = 0.1;
    std::vector<double> fields[3];
    for (int field = 0; field < 3; field++)
        for (const float value : fixed_values(n, field + 1))
            fields[field].push_back(field == 1 ? 6.0 * value - 3.0 : field == 2 ? value + 6.0
                                                                               : value + 0.8);
    const Cells before = {to_device(fields[0]), to_device(fields[1]), to_device(fields[2])};
    const Cells after = {to_device(fields[0]), to_device(fields[1]), to_device(fields[2])};

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    euler_hll<<<blocks, threads>>>(n, ratio, before, after);
    finish_launches();

    const auto at = [&](size_t i) -> State { return {fields[0][i], fields[1][i], fields[2][i]}; };
    return verdict(sampled_error(from_device(after.energy, n), [&](size_t i) {
        const size_t last = n - 1;
        const State in = flux(at(i > 0 ? i - 1 : 0), at(i));
        const State out = flux(at(i), at(i < last ? i + 1 : last));
        return fields[2][i] + ratio * (in.energy - out.energy);
    }));
}
