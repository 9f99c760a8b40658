// A step of elastic waves in a plane, finite differences in time on staggered points, fourth order
// in space: velocities from stresses, then stresses from velocities. Stiffness varies.
//
//     nvcc -O2 -o elastic_wave2d elastic_wave2d.cu && ./elastic_wave2d 1000

#include "../host.h"

struct Wave {
    float *vx, *vy, *sxx, *syy, *sxy;
    const float *lambda, *mu, *buoyancy;
};

// Differences along a step, at half a point behind or ahead.
__host__ __device__ inline float behind(const float *f, size_t at, size_t step) {
    return 1.125f * (f[at] - f[at - step]) - (f[at + step] - f[at - 2 * step]) / 24.0f;
}

__host__ __device__ inline float ahead(const float *f, size_t at, size_t step) {
    return behind(f, at + step, step);
}

__global__ void update_velocity(Wave w, int nx, int ny, float dt) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= nx - 2 || y >= ny - 2) return;
    size_t at = (size_t)y * nx + x;
    float b = dt * w.buoyancy[at];
    w.vx[at] += b * (behind(w.sxx, at, 1) + behind(w.sxy, at, nx));
    w.vy[at] += b * (ahead(w.sxy, at, 1) + ahead(w.syy, at, nx));
}

__global__ void update_stress(Wave w, int nx, int ny, float dt) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= nx - 2 || y >= ny - 2) return;
    size_t at = (size_t)y * nx + x;
    float dvx = ahead(w.vx, at, 1), dvy = behind(w.vy, at, nx);
    float lambda = w.lambda[at], mu = w.mu[at];
    w.sxx[at] += dt * ((lambda + 2.0f * mu) * dvx + lambda * dvy);
    w.syy[at] += dt * ((lambda + 2.0f * mu) * dvy + lambda * dvx);
    w.sxy[at] += dt * mu * (ahead(w.vx, at, nx) + behind(w.vy, at, 1));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const float dt = 0.2f;
    std::vector<float> host[8];
    float *device[8];
    for (int a = 0; a < 8; a++) {
        host[a] = quick_values(count, a + 1);
        device[a] = to_device(host[a]);
    }
    const Wave w = {device[0], device[1], device[2], device[3],
                    device[4], device[5], device[6], device[7]};

    dim3 block(64, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    update_velocity<<<grid, block>>>(w, n, n, dt);
    update_stress<<<grid, block>>>(w, n, n, dt);
    finish_launches();

    // The velocities are checked by the host's, and the stresses by the device's velocities.
    const std::vector<float> v[2] = {from_device(w.vx, count), from_device(w.vy, count)};
    const float *sxx = host[2].data(), *syy = host[3].data(), *sxy = host[4].data();
    const auto changed = [&](float *found, int a, auto change) {
        return sampled_error(from_device(found, count), [&](size_t e) {
            const size_t x = e % n, y = e / n, last = n - 2;
            const bool inside = x >= 2 && y >= 2 && x < last && y < last;
            return inside ? host[a][e] + dt * change(e) : host[a][e];
        });
    };
    const auto dvx = [&](size_t e) { return ahead(v[0].data(), e, 1); };
    const auto dvy = [&](size_t e) { return behind(v[1].data(), e, n); };
    double error = changed(w.vx, 0, [&](size_t e) {
        return host[7][e] * (behind(sxx, e, 1) + behind(sxy, e, n));
    });
    error += changed(w.vy, 1, [&](size_t e) {
        return host[7][e] * (ahead(sxy, e, 1) + ahead(syy, e, n));
    });
    error += changed(w.sxx, 2, [&](size_t e) {
        return host[5][e] * (dvx(e) + dvy(e)) + 2.0f * host[6][e] * dvx(e);
    });
    error += changed(w.syy, 3, [&](size_t e) {
        return host[5][e] * (dvx(e) + dvy(e)) + 2.0f * host[6][e] * dvy(e);
    });
    return verdict(error + changed(w.sxy, 4, [&](size_t e) {
        return host[6][e] * (ahead(v[0].data(), e, n) + behind(v[1].data(), e, 1));
    }));
}
