// The signed distance of each of n points from the border of its polygon, as for zones on a map.
// There is a polygon of 3 to 48 corners for 100 points.
//
//     nvcc -O2 -o polygon_distance polygon_distance.cu && ./polygon_distance 1000

#include "../host.h"

__host__ __device__ inline float signed_distance(const float2 *corners, int count,
                                                 const float2 &point) {
    float2 last = corners[count - 1];
    float nearest = 1e30f, sign = 1.0f;
    for (int c = 0; c < count; c++) {
        const float2 corner = corners[c];
        const float ex = last.x - corner.x, ey = last.y - corner.y;
        const float wx = point.x - corner.x, wy = point.y - corner.y;
        const float along = (wx * ex + wy * ey) / (ex * ex + ey * ey);
        const float share = fminf(fmaxf(along, 0.0f), 1.0f);
        const float bx = wx - ex * share, by = wy - ey * share;
        nearest = fminf(nearest, bx * bx + by * by);
        const bool above = point.y >= corner.y, below = point.y < last.y;
        const bool left = ex * wy > ey * wx;
        if ((above && below && left) || (!above && !below && !left)) sign = -sign;
        last = corner;
    }
    return sign * sqrtf(nearest);
}

__global__ void distances(const float2 *__restrict__ points, const int *__restrict__ zones,
                          const int *__restrict__ starts, const float2 *__restrict__ corners,
                          float *__restrict__ out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int zone = zones[i], start = starts[zone];
    out[i] = signed_distance(corners + start, starts[zone + 1] - start, points[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    const int polygons = n / 100 + 1;
    std::vector<int> starts(polygons + 1, 0);
    for (int p = 0; p < polygons; p++) starts[p + 1] = starts[p] + 3 + (int)(mixed(p) % 46);
    // Stars around the origin.
    std::vector<float2> corners(starts[polygons]);
    for (int p = 0; p < polygons; p++) {
        const int count = starts[p + 1] - starts[p];
        for (int c = 0; c < count; c++) {
            const float radius = 0.5f + (float)(mixed(starts[p] + c) >> 8) / 33554432.0f;
            const float angle = 6.2831853f * (float)c / (float)count;
            corners[starts[p] + c] = make_float2(radius * cosf(angle), radius * sinf(angle));
        }
    }
    std::vector<float> points = quick_values(2 * (size_t)n, 1);
    for (float &value : points) value = 2.0f * value - 1.0f;
    // Points are nearly in the order of their polygons.
    std::vector<int> zones(n);
    for (int i = 0; i < n; i++) zones[i] = (i / 100 + (int)(mixed(7u * i) % 4)) % polygons;
    const float2 *d_points = (const float2 *)to_device(points), *d_corners = to_device(corners);
    const int *d_zones = to_device(zones), *d_starts = to_device(starts);
    float *d_out = device_zeros<float>(n);

    const int threads = 128;
    distances<<<(n + threads - 1) / threads, threads>>>(d_points, d_zones, d_starts, d_corners,
                                                        d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, n), [&](size_t i) {
        const int start = starts[zones[i]], count = starts[zones[i] + 1] - start;
        return signed_distance(&corners[start], count,
                               make_float2(points[2 * i], points[2 * i + 1]));
    }));
}
