// A laser scanner on a moving car: n points, structures of 24 bytes, are moved to where they would
// have been seen at the end of the turn, by the rotation and the way since each was measured.
// Points that are too near are marked.
//
//     nvcc -O2 -o lidar_deskew lidar_deskew.cu && ./lidar_deskew 100000

#include "../host.h"

struct Point {
    float x, y, z, intensity, time;
    int ring;
};

// Velocity, and angular velocity as an axis of length one and a rate.
struct Motion {
    float vx, vy, vz, ax, ay, az, rate, end, nearest;
};

__host__ __device__ inline Point moved(Point p, Motion m) {
    if (p.x * p.x + p.y * p.y + p.z * p.z < m.nearest * m.nearest) {
        p.ring = -1;
        return p;
    }
    const float elapsed = p.time - m.end, angle = m.rate * elapsed;
    const float s = sinf(angle), c = cosf(angle);
    const float along = (m.ax * p.x + m.ay * p.y + m.az * p.z) * (1.0f - c);
    const float x = p.x * c + (m.ay * p.z - m.az * p.y) * s + m.ax * along;
    const float y = p.y * c + (m.az * p.x - m.ax * p.z) * s + m.ay * along;
    const float z = p.z * c + (m.ax * p.y - m.ay * p.x) * s + m.az * along;
    return {x + m.vx * elapsed, y + m.vy * elapsed, z + m.vz * elapsed, p.intensity, m.end, p.ring};
}

__global__ void deskew(const Point *__restrict__ in, Point *__restrict__ out, int points,
                       Motion motion) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) out[i] = moved(in[i], motion);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 27);
    std::vector<Point> points(n);
    for (int i = 0; i < n; i++) {
        const uint32_t a = mixed(2 * i), b = mixed(2 * i + 1);
        points[i] = {(float)(a & 0xffff) / 655.36f - 50.0f, (float)(a >> 16) / 655.36f - 50.0f,
                     (float)(b & 0xffff) / 6553.6f - 2.0f, (float)(b >> 16 & 255),
                     0.1f * (float)i / (float)n, (int)(i & 63)};
    }
    const Motion motion = {12.0f, 0.7f, -0.1f, 0.36f, 0.48f, 0.8f, 0.9f, 0.1f, 4.0f};
    const Point *d_points = to_device(points);
    Point *d_out = device_zeros<Point>(n);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    deskew<<<blocks, threads>>>(d_points, d_out, n, motion);
    finish_launches();

    std::vector<float> coordinates, rest;
    for (const Point &point : from_device(d_out, n)) {
        coordinates.push_back(point.x + 2.0f * point.y + 3.0f * point.z);
        rest.push_back(point.intensity + (float)point.ring + point.time);
    }
    const double error = sampled_error(coordinates, [&](size_t i) {
        const Point point = moved(points[i], motion);
        return point.x + 2.0f * point.y + 3.0f * point.z;
    });
    return verdict(fmax(error, sampled_error(rest, [&](size_t i) {
                            const Point point = moved(points[i], motion);
                            return point.intensity + (float)point.ring + point.time;
                        })));
}
