// Oceans: how a stream carries vorticity, by Arakawa's Jacobian, which keeps energy and enstrophy:
// nine points of two fields of doubles, n x n on a torus.
//
//     nvcc -O2 -o arakawa_jacobian arakawa_jacobian.cu && ./arakawa_jacobian 500

#include "checked.h"

__global__ void jacobian(const double *__restrict__ p, const double *__restrict__ q,
                         double *__restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        const int w = i == 0 ? n - 1 : i - 1, e = i == n - 1 ? 0 : i + 1;
        const int mid = j * n;
        const int south = (j == 0 ? n - 1 : j - 1) * n, north = (j == n - 1 ? 0 : j + 1) * n;

        const double plus = (p[mid + e] - p[mid + w]) * (q[north + i] - q[south + i]) -
                            (p[north + i] - p[south + i]) * (q[mid + e] - q[mid + w]);
        const double around_p = p[mid + e] * (q[north + e] - q[south + e]) -
                                p[mid + w] * (q[north + w] - q[south + w]) -
                                p[north + i] * (q[north + e] - q[north + w]) +
                                p[south + i] * (q[south + e] - q[south + w]);
        const double around_q = q[north + i] * (p[north + e] - p[north + w]) -
                                q[south + i] * (p[south + e] - p[south + w]) -
                                q[mid + e] * (p[north + e] - p[south + e]) +
                                q[mid + w] * (p[north + w] - p[south + w]);
        out[mid + i] = (plus + around_p + around_q) / 12.0;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 9000);
    const size_t count = (size_t)n * n;
    std::vector<double> psi(count), zeta(count);
    for (size_t i = 0; i < count; i++) {
        psi[i] = mixed(3161u + (uint32_t)i) * (1.0 / 4294967296.0);
        zeta[i] = mixed(93161u + 3u * (uint32_t)i) * (2.0 / 4294967296.0) - 1.0;
    }
    const double *d_psi = to_device(psi), *d_zeta = to_device(zeta);
    double *d_out = device_zeros<double>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    jacobian<<<grid, block>>>(d_psi, d_zeta, d_out, n);
    finish_launches();

    const std::vector<double> out = from_device(d_out, count);
    double squares = 0.0;
    for (const double v : out) squares += v * v;
    printf("checksum of squares: %.10g\n", squares);
    return verdict(sampled_error(out, [&](size_t at) {
        const int x = (int)(at % n), y = (int)(at / n);
        auto of = [&](const std::vector<double> &a, int dx, int dy) {
            return a[(size_t)((y + dy + n) % n) * n + (x + dx + n) % n];
        };
        // The sum over the eight triangles around a point gives the same.
        const int ring[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
        double sum = 0.0;
        for (int k = 0; k < 8; k++) {
            const int *a = ring[k], *b = ring[(k + 1) % 8], *c = ring[(k + 2) % 8];
            const double weight = k % 2 == 0 ? 1.0 : 0.0;
            auto cross = [&](const int *s, const int *t) {
                return of(psi, s[0], s[1]) * of(zeta, t[0], t[1]) -
                       of(psi, t[0], t[1]) * of(zeta, s[0], s[1]);
            };
            sum += cross(a, b) + weight * cross(a, c);
        }
        return sum / 12.0;
    }));
}
