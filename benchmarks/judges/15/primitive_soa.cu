// Gas dynamics: n cells from conserved to primitive quantities, in place in a structure of arrays,
// and the speed of sound beside them.
//
//     nvcc -O2 -o primitive_soa primitive_soa.cu && ./primitive_soa 1000000

#include "../host.h"

__global__ void primitive_soa(int n, float gamma, const float *density, float *along_x,
                              float *along_y, float *along_z, float *energy, float *sound) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    along_x[i] = along_x[i] / density[i];
    along_y[i] = along_y[i] / density[i];
    along_z[i] = along_z[i] / density[i];
    const float square = along_x[i] * along_x[i] + along_y[i] * along_y[i] +
                         along_z[i] * along_z[i];
    energy[i] = (gamma - 1.0f) * (energy[i] - 0.5f * density[i] * square);
    sound[i] = sqrtf(gamma * energy[i] / density[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    std::vector<float> density = quick_values(n, 1), energy = quick_values(n, 2);
    const std::vector<float> x = quick_values(n, 3), y = quick_values(n, 4), z = quick_values(n, 5);
    for (float &value : density) value += 0.5f;
    for (float &value : energy) value += 5.0f;
    const float gamma = 1.4f;
    float *device_density = to_device(density), *device_energy = to_device(energy);
    float *device_x = to_device(x), *device_y = to_device(y), *device_z = to_device(z);
    float *sound = device_zeros<float>(n);

    const int threads = 256;
    primitive_soa<<<blocks_for(n, threads), threads>>>(n, gamma, device_density, device_x,
                                                       device_y, device_z, device_energy, sound);
    finish_launches();

    const double error_x = sampled_error(
        from_device(device_x, n), [&](size_t e) { return x[e] / (double)density[e]; });
    const double error_sound = sampled_error(from_device(sound, n), [&](size_t e) {
        const double square = (double)x[e] * x[e] + (double)y[e] * y[e] + (double)z[e] * z[e];
        const double pressure = (gamma - 1.0) * (energy[e] - 0.5 * square / density[e]);
        return sqrt(gamma * pressure / density[e]);
    });
    return verdict(fmax(error_x, error_sound));
}
