// Finite volumes: area and mean of a field in n four-sided cells of any mesh, corners by index.
//
//     nvcc -O2 -o cell_average cell_average.cu && ./cell_average 60000

#include "summed.h"

typedef struct {
    int corner[4];
} cell_t;

typedef struct {
    double x, y;
} point_t;

__global__ void cell_average_kernel(const cell_t *cells, const point_t *points, const double *field,
                                    double *area, double *mean, int ncells) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < ncells) {
        double twice = 0.0, sum = 0.0;
        for (int k = 0; k < 4; k++) {
            point_t p = points[cells[c].corner[k]];
            point_t q = points[cells[c].corner[(k + 1) % 4]];
            twice += p.x * q.y - q.x * p.y;
            sum += field[cells[c].corner[k]];
        }
        area[c] = 0.5 * twice;
        mean[c] = 0.25 * sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 900, 30000000);
    // About square, with corners that moved a little.
    const int wide = (int)sqrt((double)n) + 1, high = (n + wide - 1) / wide;
    const int npoints = (wide + 1) * (high + 1);
    std::vector<point_t> points(npoints);
    std::vector<double> field(npoints);
    for (int i = 0; i < npoints; i++) {
        points[i].x = i % (wide + 1) + 0.4 * (mixed(2u * i) * (1.0 / 4294967296.0));
        points[i].y = i / (wide + 1) + 0.4 * (mixed(2u * i + 1u) * (1.0 / 4294967296.0));
        field[i] = points[i].x * 0.01 + points[i].y * 0.02;
    }
    std::vector<cell_t> cells(n);
    for (int c = 0; c < n; c++) {
        const int first = c / wide * (wide + 1) + c % wide;
        cells[c] = {{first, first + 1, first + wide + 2, first + wide + 1}};
    }
    // Cells near each other change places.
    for (int c = 0; c + 64 < n; c++) std::swap(cells[c], cells[c + mixed((uint32_t)c) % 64]);

    cell_t *d_cells = to_device(cells);
    point_t *d_points = to_device(points);
    double *d_field = to_device(field), *d_area = device_zeros<double>(n);
    double *d_mean = device_zeros<double>(n);

    const int TPB = 256;
    const int blocks = (n + TPB - 1) / TPB;
    cell_average_kernel<<<blocks, TPB>>>(d_cells, d_points, d_field, d_area, d_mean, n);
    finish_launches();

    const std::vector<double> area = from_device(d_area, n), mean = from_device(d_mean, n);
    say_sum("areas", area);
    say_sum("means", mean);
    const double of_area = sampled_error(area, [&](size_t c) {
        double twice = 0.0;
        for (int k = 0; k < 4; k++) {
            const point_t p = points[cells[c].corner[k]], q = points[cells[c].corner[(k + 1) % 4]];
            twice += p.x * q.y - q.x * p.y;
        }
        return 0.5 * twice;
    });
    const double of_mean = sampled_error(mean, [&](size_t c) {
        double sum = 0.0;
        for (int k = 0; k < 4; k++) sum += field[cells[c].corner[k]];
        return 0.25 * sum;
    });
    return verdict(fmax(of_area, of_mean));
}
