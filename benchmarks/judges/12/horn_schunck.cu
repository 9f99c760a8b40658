// Optical flow between two images of n x (3 n / 4) pixels by Horn and Schunck: four steps of
// Jacobi's iteration for both parts of the flow, from three derivatives of the images. At the
// border the nearest pixel counts.
//
//     nvcc -O2 -o horn_schunck horn_schunck.cu && ./horn_schunck 1000

#include "../host.h"

#define STEPS 4
#define SMOOTHNESS 0.3f

__global__ void flow_step(const float *__restrict__ u, const float *__restrict__ v,
                          const float *__restrict__ dx, const float *__restrict__ dy,
                          const float *__restrict__ dt, float *__restrict__ new_u,
                          float *__restrict__ new_v, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int at = y * width + x;
    const int left = x > 0 ? at - 1 : at, right = x < width - 1 ? at + 1 : at;
    const int above = y > 0 ? at - width : at, below = y < height - 1 ? at + width : at;
    const float mean_u = 0.25f * (u[left] + u[right] + u[above] + u[below]);
    const float mean_v = 0.25f * (v[left] + v[right] + v[above] + v[below]);
    const float a = dx[at], b = dy[at];
    const float change = (a * mean_u + b * mean_v + dt[at]) / (SMOOTHNESS + a * a + b * b);
    new_u[at] = mean_u - a * change;
    new_v[at] = mean_v - b * change;
}

int main(int argc, char **argv) {
    const int width = size_argument(argc, argv, 64, 30000), height = (width * 3 + 3) / 4;
    const size_t count = (size_t)width * height;
    std::vector<float> dx = quick_values(count, 1), dy = quick_values(count, 2);
    const std::vector<float> dt = quick_values(count, 3);
    for (size_t e = 0; e < count; e++) {
        dx[e] -= 0.5f;
        dy[e] -= 0.5f;
    }
    const float *d_dx = to_device(dx), *d_dy = to_device(dy), *d_dt = to_device(dt);
    float *d_u = device_zeros<float>(count), *d_v = device_zeros<float>(count);
    float *d_new_u = device_zeros<float>(count), *d_new_v = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    for (int step = 0; step < STEPS; step++) {
        flow_step<<<grid, block>>>(d_u, d_v, d_dx, d_dy, d_dt, d_new_u, d_new_v, width, height);
        std::swap(d_u, d_new_u);
        std::swap(d_v, d_new_v);
    }
    finish_launches();

    struct Flow {
        const std::vector<float> &dx, &dy, &dt;
        int width, height;
        void operator()(int x, int y, int steps, double &u, double &v) const {
            u = v = 0.0;
            if (steps == 0) return;
            const int xs[4] = {x > 0 ? x - 1 : x, x < width - 1 ? x + 1 : x, x, x};
            const int ys[4] = {y, y, y > 0 ? y - 1 : y, y < height - 1 ? y + 1 : y};
            for (int k = 0; k < 4; k++) {
                double part_u, part_v;
                (*this)(xs[k], ys[k], steps - 1, part_u, part_v);
                u += 0.25 * part_u;
                v += 0.25 * part_v;
            }
            const size_t at = (size_t)y * width + x;
            const double a = dx[at], b = dy[at];
            const double change = (a * u + b * v + dt[at]) / (SMOOTHNESS + a * a + b * b);
            u -= a * change;
            v -= b * change;
        }
    };
    const Flow flow = {dx, dy, dt, width, height};
    const std::vector<float> out_v = from_device(d_v, count);
    const double error_u = sampled_error(from_device(d_u, count), [&](size_t e) {
        double u, v;
        flow((int)(e % width), (int)(e / width), STEPS, u, v);
        return u;
    });
    const double error_v = sampled_error(out_v, [&](size_t e) {
        double u, v;
        flow((int)(e % width), (int)(e / width), STEPS, u, v);
        return v;
    });
    return verdict(fmax(error_u, error_v));
}
