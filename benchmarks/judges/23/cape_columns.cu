// Weather: the energy that lifts a parcel through 48 levels of air above each of n points, and the
// level at which it begins to rise by itself; a thread per column, levels one after the other.
//
//     nvcc -O2 -o cape_columns cape_columns.cu && ./cape_columns 20000

#include "checked.h"

#define LEVELS 48

__global__ void convective_energy(const float *__restrict__ parcel, const float *__restrict__ air,
                                  const float *__restrict__ thickness, float *__restrict__ energy,
                                  int *__restrict__ free_level, int columns) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float sum = 0.0f;
    int first = -1;
    for (int k = 0; k < LEVELS; k++) {
        const size_t at = (size_t)k * columns + c;
        const float outside = air[at];
        const float lift = 9.80665f * (parcel[at] - outside) / outside * thickness[k];
        if (lift > 0.0f) {
            sum += lift;
            if (first < 0) first = k;
        }
    }
    energy[c] = sum;
    free_level[c] = first;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 5000000);
    const size_t count = (size_t)n * LEVELS;
    std::vector<float> parcel = quick_values(count, 3101), air = quick_values(count, 3102);
    std::vector<float> thickness(LEVELS);
    for (int k = 0; k < LEVELS; k++) {
        thickness[k] = 100.0f + 12.0f * k;
        const float usual = 300.0f - 1.8f * k;
        for (size_t at = (size_t)k * n; at < (size_t)(k + 1) * n; at++) {
            parcel[at] = usual + 6.0f * parcel[at] - (k < 8 ? 5.9f : 2.0f);
            air[at] = usual + 2.0f * air[at];
        }
    }
    const float *d_parcel = to_device(parcel), *d_air = to_device(air);
    const float *d_thickness = to_device(thickness);
    float *d_energy = device_zeros<float>(n);
    int *d_level = device_zeros<int>(n);

    convective_energy<<<(n + 127) / 128, 128>>>(d_parcel, d_air, d_thickness, d_energy, d_level, n);
    finish_launches();

    const std::vector<float> energy = from_device(d_energy, n);
    const std::vector<int> level = from_device(d_level, n);
    say_sum("energies", energy);
    say_sum("levels", level);
    const double wrong = sampled_wrong(n, [&](size_t c) {
        int k = 0;
        while (k < LEVELS && !(parcel[(size_t)k * n + c] > air[(size_t)k * n + c])) k++;
        return level[c] == (k < LEVELS ? k : -1);
    });
    return verdict(wrong + sampled_error(energy, [&](size_t c) {
        double sum = 0.0;
        for (int k = 0; k < LEVELS; k++) {
            const double outside = air[(size_t)k * n + c];
            const double excess = (parcel[(size_t)k * n + c] - outside) / outside;
            sum += fmax(0.0, 9.80665 * excess * thickness[k]);
        }
        return sum;
    }));
}
