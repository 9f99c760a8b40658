// One step of heat conduction on n x n x n points in double precision, with a conductivity that
// varies: a face has the harmonic mean of its two sides. The surface keeps its temperature.
//
//     nvcc -O2 -o varcoef3d varcoef3d.cu && ./varcoef3d 100

#include "../host.h"

#define IDX(i, j, k) (((k) * ny + (j)) * nx + (i))

__host__ __device__ inline double face(double a, double b) { return 2.0 * a * b / (a + b); }

__global__ void conduct(const double *__restrict__ T, const double *__restrict__ kappa,
                        double *__restrict__ Tnew, int nx, int ny, int nz, double dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;

    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k > 0 && k < nz - 1) {
        double t = T[IDX(i, j, k)], c = kappa[IDX(i, j, k)];
        double flux = face(c, kappa[IDX(i - 1, j, k)]) * (T[IDX(i - 1, j, k)] - t) +
                      face(c, kappa[IDX(i + 1, j, k)]) * (T[IDX(i + 1, j, k)] - t) +
                      face(c, kappa[IDX(i, j - 1, k)]) * (T[IDX(i, j - 1, k)] - t) +
                      face(c, kappa[IDX(i, j + 1, k)]) * (T[IDX(i, j + 1, k)] - t) +
                      face(c, kappa[IDX(i, j, k - 1)]) * (T[IDX(i, j, k - 1)] - t) +
                      face(c, kappa[IDX(i, j, k + 1)]) * (T[IDX(i, j, k + 1)] - t);
        Tnew[IDX(i, j, k)] = t + dt * flux;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 800);
    const size_t count = (size_t)n * n * n;
    const double dt = 0.1;
    const std::vector<float> numbers = quick_values(count, 1), others = quick_values(count, 2);
    std::vector<double> T(count), kappa(count);
    for (size_t e = 0; e < count; e++) {
        T[e] = numbers[e];
        kappa[e] = 0.1 + others[e];
    }
    const double *d_T = to_device(T), *d_kappa = to_device(kappa);
    double *d_Tnew = to_device(T);

    dim3 block(32, 4, 2);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    conduct<<<grid, block>>>(d_T, d_kappa, d_Tnew, n, n, n, dt);
    finish_launches();

    return verdict(sampled_error(from_device(d_Tnew, count), [&](size_t e) {
        const size_t place[3] = {e % n, e / n % n, e / n / n};
        const size_t stride[3] = {1, (size_t)n, (size_t)n * n};
        double flux = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            if (place[axis] == 0 || place[axis] == (size_t)n - 1) return T[e];
            const size_t low = e - stride[axis], high = e + stride[axis];
            flux += face(kappa[e], kappa[low]) * (T[low] - T[e]);
            flux += face(kappa[e], kappa[high]) * (T[high] - T[e]);
        }
        return T[e] + dt * flux;
    }));
}
