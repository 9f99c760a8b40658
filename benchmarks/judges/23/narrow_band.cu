// Surfaces: a step that makes a level set a distance again, n x n x n cells, only for the cells of
// a list of those close to the surface, by differences against the wind.
//
//     nvcc -O2 -o narrow_band narrow_band.cu && ./narrow_band 80

#include "checked.h"

__global__ void redistance(const int *band, int band_cells, const float *phi, float *next, int n,
                           float h, float dt) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= band_cells) return;
    const int cell = band[k];
    const float c = phi[cell];
    const float over_h = 1.0f / h;
    const float west = (c - phi[cell - 1]) * over_h, east = (phi[cell + 1] - c) * over_h;
    const float south = (c - phi[cell - n]) * over_h, north = (phi[cell + n] - c) * over_h;
    const float below = (c - phi[cell - n * n]) * over_h, above = (phi[cell + n * n] - c) * over_h;
    float gx, gy, gz;
    if (c > 0.0f) {
        gx = fmaxf(fmaxf(west, 0.0f), -fminf(east, 0.0f));
        gy = fmaxf(fmaxf(south, 0.0f), -fminf(north, 0.0f));
        gz = fmaxf(fmaxf(below, 0.0f), -fminf(above, 0.0f));
    } else {
        gx = fmaxf(-fminf(west, 0.0f), fmaxf(east, 0.0f));
        gy = fmaxf(-fminf(south, 0.0f), fmaxf(north, 0.0f));
        gz = fmaxf(-fminf(below, 0.0f), fmaxf(above, 0.0f));
    }
    const float slope = sqrtf(gx * gx + gy * gy + gz * gz);
    const float sign = c / sqrtf(c * c + h * h);
    next[cell] = c - dt * sign * (slope - 1.0f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 14, 570);
    const size_t count = (size_t)n * n * n;
    const float h = 0.5f, dt = 0.2f;
    // A gyroid: a surface that is near everywhere.
    std::vector<float> sine(n), cosine(n), phi(count);
    for (int i = 0; i < n; i++) sine[i] = (float)sin(i * 0.15), cosine[i] = (float)cos(i * 0.15);
    std::vector<int> band;
    for (int z = 0, cell = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++, cell++) {
                const float value = sine[x] * cosine[y] + sine[y] * cosine[z] + sine[z] * cosine[x];
                phi[cell] = 3.0f * value;
                const bool inside = x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1;
                if (inside && fabsf(value) < 0.3f) band.push_back(cell);
            }
    const int cells = (int)band.size();
    if (cells == 0) return verdict(INFINITY);
    const int *d_band = to_device(band);
    const float *d_phi = to_device(phi);
    float *d_next = to_device(phi);

    redistance<<<(cells + 127) / 128, 128>>>(d_band, cells, d_phi, d_next, n, h, dt);
    finish_launches();

    const std::vector<float> next = from_device(d_next, count);
    say_sum("distances", next);
    // All cells of the band, one after the other: they are few beside the others.
    std::vector<float> found(cells);
    for (int k = 0; k < cells; k++) found[k] = next[band[k]];
    return verdict(sampled_error(found, [&](size_t k) {
        const int cell = band[k];
        const double c = phi[cell], side = c > 0.0 ? 1.0 : -1.0;
        double squares = 0.0;
        for (const int stride : {1, n, n * n}) {
            const double back = side * (c - phi[cell - stride]) / h;
            const double ahead = side * (phi[cell + stride] - c) / h;
            squares += pow(fmax(0.0, fmax(back, -ahead)), 2);
        }
        return c - dt * c / sqrt(c * c + h * h) * (sqrt(squares) - 1.0);
    }));
}
