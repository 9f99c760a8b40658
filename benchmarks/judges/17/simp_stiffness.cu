// Topology optimisation: forces = stiffness times displacements on n x n square elements,
// without a matrix. A thread has a node: it gathers the corners of the four elements around it,
// each weighted by the cube of its density, in FP64.
//
//     nvcc -O2 -o simp_stiffness simp_stiffness.cu && ./simp_stiffness 2000

#include "../host.h"

#define YOUNG_MIN 1e-6

struct Element {
    double stiffness[8][8];
};

__constant__ Element element;

// The corners of an element: lower left, lower right, upper right, upper left.
__host__ __device__ inline double2 force_at(const Element &e, const double2 *displacement,
                                            const double *density, int nx, int ny, int x, int y) {
    double2 force = make_double2(0.0, 0.0);
    for (int own = 0; own < 4; own++) {
        const int ex = x - (own == 1 || own == 2), ey = y - (own >= 2);
        if (ex < 0 || ey < 0 || ex >= nx || ey >= ny) continue;
        const double rho = density[(size_t)ey * nx + ex];
        const double young = YOUNG_MIN + rho * rho * rho * (1.0 - YOUNG_MIN);
        double2 sum = make_double2(0.0, 0.0);
        for (int corner = 0; corner < 4; corner++) {
            const int cx = ex + (corner == 1 || corner == 2), cy = ey + (corner >= 2);
            const double2 u = displacement[(size_t)cy * (nx + 1) + cx];
            sum.x += e.stiffness[2 * own][2 * corner] * u.x +
                     e.stiffness[2 * own][2 * corner + 1] * u.y;
            sum.y += e.stiffness[2 * own + 1][2 * corner] * u.x +
                     e.stiffness[2 * own + 1][2 * corner + 1] * u.y;
        }
        force.x += young * sum.x;
        force.y += young * sum.y;
    }
    return force;
}

__global__ void apply_stiffness(const double2 *__restrict__ displacement,
                                const double *__restrict__ density, double2 *__restrict__ force,
                                int nx, int ny) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > nx || y > ny) return;
    force[(size_t)y * (nx + 1) + x] = force_at(element, displacement, density, nx, ny, x, y);
}

// Plane stress, Poisson's ratio 0.3, as in the well-known 99 lines of O. Sigmund.
static Element plane_stress() {
    const double nu = 0.3, scale = 1.0 / (1.0 - nu * nu);
    const double k[8] = {0.5 - nu / 6,   0.125 + nu / 8,  -0.25 - nu / 12, -0.125 + 3 * nu / 8,
                         -0.25 + nu / 12, -0.125 - nu / 8, nu / 6,          0.125 - 3 * nu / 8};
    static const int pattern[8][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 7, 6, 5, 4, 3, 2}, {2, 7, 0, 5, 6, 3, 4, 1},
        {3, 6, 5, 0, 7, 2, 1, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 3, 2, 1, 0, 7, 6},
        {6, 3, 4, 1, 2, 7, 0, 5}, {7, 2, 1, 4, 3, 6, 5, 0}};
    Element result;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) result.stiffness[i][j] = scale * k[pattern[i][j]];
    return result;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 12000);
    const size_t nodes = (size_t)(n + 1) * (n + 1), elements = (size_t)n * n;
    std::vector<double2> displacement(nodes);
    std::vector<double> density(elements);
    for (size_t i = 0; i < nodes; i++) {
        const uint32_t bits = mixed((uint32_t)i + 131u);
        displacement[i].x = (bits & 0xffff) / 65536.0 - 0.5;
        displacement[i].y = (bits >> 16) / 65536.0 - 0.5;
    }
    for (size_t i = 0; i < elements; i++)
        density[i] = (mixed((uint32_t)i + 132u) >> 8) / 16777216.0;
    const Element stiffness = plane_stress();
    CHECK(cudaMemcpyToSymbol(element, &stiffness, sizeof(Element)));
    const double2 *d_displacement = to_device(displacement);
    const double *d_density = to_device(density);
    double2 *d_force = device_zeros<double2>(nodes);

    dim3 block(16, 16);
    dim3 grid((n + block.x) / block.x, (n + block.y) / block.y);
    apply_stiffness<<<grid, block>>>(d_displacement, d_density, d_force, n, n);
    finish_launches();

    return verdict(sampled_error(from_device((const double *)d_force, 2 * nodes), [&](size_t e) {
        const int x = (int)(e / 2 % (n + 1)), y = (int)(e / 2 / (n + 1));
        const double2 force =
            force_at(stiffness, displacement.data(), density.data(), n, n, x, y);
        return e % 2 == 0 ? force.x : force.y;
    }));
}
