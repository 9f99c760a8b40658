// Climate: how sea ice thickens in a step on n x n cells, where there is ice. Newton's method
// finds the temperature of the surface at which what is radiated and what is conducted are in
// balance.
//
//     nvcc -O2 -o ice_growth ice_growth.cu && ./ice_growth 400

#include "checked.h"

struct Weather {
    float ocean, emission, exchange;
};

template <class Real>
__host__ __device__ Real surface_temperature(Real thickness, Real snow, Real warming, Weather w) {
    const Real resistance = thickness / (Real)2.03 + snow / (Real)0.31;
    Real t = 260;
    for (int round = 0; round < 12; round++) {
        const Real cube = t * t * t;
        const Real balance = warming - w.emission * cube * t - w.exchange * (t - 255) +
                             (w.ocean - t) / resistance;
        const Real slope = -4 * w.emission * cube - w.exchange - 1 / resistance;
        const Real change = balance / slope;
        t -= change;
        if (fabs(change) < (Real)1e-3) break;
    }
    return t < (Real)273.15 ? t : (Real)273.15;
}

__global__ void grow_ice(const uint8_t *__restrict__ is_ice, const float *__restrict__ snow,
                         const float *__restrict__ warming, float *__restrict__ thickness, int nx,
                         int ny, Weather weather, float seconds) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const size_t cell = (size_t)y * nx + x;
    if (!is_ice[cell]) return;
    const float h = thickness[cell], s = snow[cell];
    const float t = surface_temperature<float>(h, s, warming[cell], weather);
    const float conducted = (weather.ocean - t) / (h / 2.03f + s / 0.31f);
    thickness[cell] = h + seconds * conducted / 3.0e8f;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 11000);
    const size_t count = (size_t)n * n;
    std::vector<float> thickness = quick_values(count, 3221), snow = quick_values(count, 3222),
                       warming = quick_values(count, 3223);
    std::vector<uint8_t> is_ice(count);
    for (size_t i = 0; i < count; i++) {
        // Floes of 37 x 23 cells, with water between four in ten of them, and holes.
        const uint32_t floe = mixed((uint32_t)(i % n / 37) + 1000u * (uint32_t)(i / n / 23));
        is_ice[i] = floe % 10 < 6 && mixed((uint32_t)i) % 50 != 0;
        thickness[i] = is_ice[i] ? 0.2f + 2.0f * thickness[i] : 0.0f;
        snow[i] *= 0.3f;
        warming[i] = 180.0f + 60.0f * warming[i];
    }
    const uint8_t *d_ice = to_device(is_ice);
    const float *d_snow = to_device(snow), *d_warming = to_device(warming);
    float *d_thickness = to_device(thickness);
    const Weather weather = {271.35f, 5.5e-8f, 12.0f};
    const float seconds = 86400.0f;

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    grow_ice<<<grid, block>>>(d_ice, d_snow, d_warming, d_thickness, n, n, weather, seconds);
    finish_launches();

    const std::vector<float> grown = from_device(d_thickness, count);
    say_sum("thickness", grown);
    return verdict(sampled_error(grown, [&](size_t e) {
        const double h = thickness[e], s = snow[e];
        if (!is_ice[e]) return h;
        const double t = surface_temperature<double>(h, s, warming[e], weather);
        return h + seconds * (weather.ocean - t) / (h / 2.03 + s / 0.31) / 3.0e8;
    }));
}
