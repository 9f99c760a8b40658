// Compressibility and fugacities of mixtures of methane and propane after Peng and Robinson, one
// state per thread, in FP64: Newton steps for the root of a cubic, roots and logarithms.
//
//     nvcc -O2 -o peng_robinson peng_robinson.cu && ./peng_robinson 1000

#include "../host.h"

#define GAS 8.314462618
#define STEPS 8

struct Mixture {
    double critical_temperature[2], critical_pressure[2], kappa[2];
    double interaction;
};

struct State {
    double z, first, second;
};

__host__ __device__ inline State state_of(const Mixture &mix, double temperature, double pressure,
                                          double share) {
    double attraction[2], volume[2];
    for (int s = 0; s < 2; s++) {
        const double rt = GAS * mix.critical_temperature[s];
        const double root = 1.0 - sqrt(temperature / mix.critical_temperature[s]);
        const double alpha = 1.0 + mix.kappa[s] * root;
        attraction[s] = 0.45723553 * rt * rt / mix.critical_pressure[s] * alpha * alpha;
        volume[s] = 0.07779607 * rt / mix.critical_pressure[s];
    }
    const double cross = (1.0 - mix.interaction) * sqrt(attraction[0] * attraction[1]);
    const double other = 1.0 - share;
    const double with_first = share * attraction[0] + other * cross;
    const double with_second = share * cross + other * attraction[1];
    const double a = share * with_first + other * with_second;
    const double b = share * volume[0] + other * volume[1];
    const double rt = GAS * temperature;
    const double big_a = a * pressure / (rt * rt), big_b = b * pressure / rt;

    const double c2 = big_b - 1.0, c1 = big_a - 3.0 * big_b * big_b - 2.0 * big_b;
    const double c0 = big_b * (big_b * big_b + big_b - big_a);
    double z = 1.0;
    for (int step = 0; step < STEPS; step++)
        z -= (((z + c2) * z + c1) * z + c0) / ((3.0 * z + 2.0 * c2) * z + c1);

    const double shifted = log(z - big_b);
    const double ratio = log((z + 2.414213562373095 * big_b) / (z - 0.414213562373095 * big_b));
    const double factor = big_a / (2.828427124746190 * big_b) * ratio;
    const double part_1 = volume[0] / b, part_2 = volume[1] / b;
    State state;
    state.z = z;
    state.first = part_1 * (z - 1.0) - shifted - factor * (2.0 * with_first / a - part_1);
    state.second = part_2 * (z - 1.0) - shifted - factor * (2.0 * with_second / a - part_2);
    return state;
}

__global__ void peng_robinson(Mixture mix, const double *__restrict__ temperature,
                              const double *__restrict__ pressure,
                              const double *__restrict__ share, double *__restrict__ z,
                              double *__restrict__ first, double *__restrict__ second,
                              int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const State state = state_of(mix, temperature[i], pressure[i], share[i]);
        z[i] = state.z;
        first[i] = state.first;
        second[i] = state.second;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    const Mixture mix = {{190.56, 369.83}, {4.599e6, 4.248e6}, {0.392, 0.600}, 0.014};
    std::vector<double> temperature(n), pressure(n), share(n);
    for (int i = 0; i < n; i++) {
        temperature[i] = 400.0 + 200.0 / 65536.0 * (mixed(3u * i) >> 16);
        pressure[i] = 1e5 + 4e6 / 65536.0 * (mixed(3u * i + 1) >> 16);
        share[i] = 1.0 / 65536.0 * (mixed(3u * i + 2) >> 16);
    }
    const double *d_temperature = to_device(temperature), *d_pressure = to_device(pressure);
    const double *d_share = to_device(share);
    double *d_z = device_zeros<double>(n), *d_first = device_zeros<double>(n);
    double *d_second = device_zeros<double>(n);

    const int threads = 256;
    peng_robinson<<<(n + threads - 1) / threads, threads>>>(mix, d_temperature, d_pressure,
                                                            d_share, d_z, d_first, d_second, n);
    finish_launches();

    const auto expected = [&](size_t i) {
        return state_of(mix, temperature[i], pressure[i], share[i]);
    };
    double error = sampled_error(from_device(d_z, n), [&](size_t i) { return expected(i).z; });
    error += sampled_error(from_device(d_first, n), [&](size_t i) { return expected(i).first; });
    error += sampled_error(from_device(d_second, n), [&](size_t i) { return expected(i).second; });
    return verdict(error);
}
