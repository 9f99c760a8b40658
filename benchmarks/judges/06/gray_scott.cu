// Four steps of the Gray-Scott reaction of two substances on n x n points, of which the first row
// and column follow the last.
//
//     nvcc -O2 -o gray_scott gray_scott.cu && ./gray_scott 1000

#include "../host.h"

#define STEPS 4
#define DU 0.16f
#define DV 0.08f
#define FEED 0.035f
#define KILL 0.065f

__host__ __device__ inline float2 react(float2 c, float2 w, float2 e, float2 n, float2 s) {
    const float uvv = c.x * c.y * c.y;
    return make_float2(c.x + DU * (w.x + e.x + n.x + s.x - 4.0f * c.x) - uvv + FEED * (1.0f - c.x),
                       c.y + DV * (w.y + e.y + n.y + s.y - 4.0f * c.y) + uvv -
                           (FEED + KILL) * c.y);
}

__global__ void gray_scott(const float *u, const float *v, float *u_next, float *v_next, int width,
                           int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int west = y * width + (x + width - 1) % width;
        int east = y * width + (x + 1) % width;
        int north = (y + height - 1) % height * width + x;
        int south = (y + 1) % height * width + x;
        int at = y * width + x;
        float2 next = react(make_float2(u[at], v[at]), make_float2(u[west], v[west]),
                            make_float2(u[east], v[east]), make_float2(u[north], v[north]),
                            make_float2(u[south], v[south]));
        u_next[at] = next.x;
        v_next[at] = next.y;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<float> u = quick_values(count, 1), v = quick_values(count, 2);
    float *d_u = to_device(u), *d_v = to_device(v);
    float *d_u_next = device_zeros<float>(count), *d_v_next = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    for (int step = 0; step < STEPS; step++) {
        gray_scott<<<grid, block>>>(d_u, d_v, d_u_next, d_v_next, n, n);
        std::swap(d_u, d_u_next);
        std::swap(d_v, d_v_next);
    }
    finish_launches();

    struct Host {
        int n;
        const float *u, *v;
        float2 after(int steps, int x, int y) const {
            x = (x + n) % n;
            y = (y + n) % n;
            if (steps == 0) return make_float2(u[(size_t)y * n + x], v[(size_t)y * n + x]);
            const int t = steps - 1;
            return react(after(t, x, y), after(t, x - 1, y), after(t, x + 1, y),
                         after(t, x, y - 1), after(t, x, y + 1));
        }
    };
    const Host host = {n, u.data(), v.data()};
    const double error_u = sampled_error(from_device(d_u, count), [&](size_t e) {
        return host.after(STEPS, (int)(e % n), (int)(e / n)).x;
    });
    return verdict(error_u + sampled_error(from_device(d_v, count), [&](size_t e) {
        return host.after(STEPS, (int)(e % n), (int)(e / n)).y;
    }));
}
