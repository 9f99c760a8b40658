// Electrical grids: what is missing in the power balance of n buses. A bus has 2 to 6 lines,
// mostly to buses near it in the numbering; the admittances are complex and stored by rows
// (CSR).
//
//     nvcc -O2 -o power_flow power_flow.cu && ./power_flow 1000000

#include "../host.h"

struct Grid {
    const int *first;           // where the lines of a bus begin
    const int *other;           // the other end
    const double2 *admittance;  // of a line
};

__host__ __device__ inline double2 injected(const Grid &grid, const double *magnitude,
                                            const double *angle, int bus) {
    double active = 0.0, reactive = 0.0;
    const double own_angle = angle[bus];
    for (int k = grid.first[bus]; k < grid.first[bus + 1]; k++) {
        const int j = grid.other[k];
        const double2 y = grid.admittance[k];
        const double difference = own_angle - angle[j];
        const double c = cos(difference), s = sin(difference);
        active += magnitude[j] * (y.x * c + y.y * s);
        reactive += magnitude[j] * (y.x * s - y.y * c);
    }
    return make_double2(magnitude[bus] * active, magnitude[bus] * reactive);
}

__global__ void power_mismatch(Grid grid, const double *__restrict__ magnitude,
                               const double *__restrict__ angle,
                               const double2 *__restrict__ scheduled,
                               double2 *__restrict__ mismatch, int buses) {
    const int bus = blockIdx.x * blockDim.x + threadIdx.x;
    if (bus >= buses) return;
    const double2 flow = injected(grid, magnitude, angle, bus);
    const double2 wanted = scheduled[bus];
    mismatch[bus] = make_double2(wanted.x - flow.x, wanted.y - flow.y);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 50000000);
    std::vector<int> first(n + 1), other;
    std::vector<double2> admittance, scheduled(n);
    std::vector<double> magnitude(n), angle(n);
    other.reserve(4 * (size_t)n + 1000);
    admittance.reserve(4 * (size_t)n + 1000);
    for (int i = 0; i < n; i++) {
        first[i] = (int)other.size();
        const uint32_t bits = mixed(i + 17u);
        const int lines = 2 + (int)(bits % 5);
        for (int k = 0; k < lines; k++) {
            const uint32_t more = mixed(bits + k);
            const long long near = i + (long long)(more % 129) - 64;
            const bool is_far = more >> 27 == 0 || near < 0 || near >= n;
            other.push_back(is_far ? (int)(more % n) : (int)near);
            admittance.push_back(make_double2(-1.0 - (more >> 24) / 256.0, 8.0 + (more & 7)));
        }
        magnitude[i] = 0.95 + (bits >> 24) / 2560.0;
        angle[i] = ((bits >> 8 & 0xffff) - 32768.0) / 65536.0;
        scheduled[i] = make_double2((bits >> 16 & 255) / 128.0, (bits & 255) / 256.0);
    }
    first[n] = (int)other.size();
    const Grid grid = {to_device(first), to_device(other), to_device(admittance)};
    const double *d_magnitude = to_device(magnitude), *d_angle = to_device(angle);
    const double2 *d_scheduled = to_device(scheduled);
    double2 *d_mismatch = device_zeros<double2>(n);

    const int threads = 128;
    power_mismatch<<<(n + threads - 1) / threads, threads>>>(grid, d_magnitude, d_angle,
                                                             d_scheduled, d_mismatch, n);
    finish_launches();

    const Grid here = {first.data(), other.data(), admittance.data()};
    const std::vector<double> found = from_device((const double *)d_mismatch, 2 * (size_t)n);
    return verdict(sampled_error(found, [&](size_t e) {
        const int bus = (int)(e / 2);
        const double2 flow = injected(here, magnitude.data(), angle.data(), bus);
        return e % 2 == 0 ? scheduled[bus].x - flow.x : scheduled[bus].y - flow.y;
    }));
}
