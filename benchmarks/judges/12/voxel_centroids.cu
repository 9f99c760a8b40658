// A cloud of n points of a laser scanner made coarser: each point, a structure of 16 bytes, is
// added to the sums of its voxel by four atomic additions, then each voxel gets its mean. There are
// about n / 8 voxels, of which few have most of the points.
//
//     nvcc -O2 -o voxel_centroids voxel_centroids.cu && ./voxel_centroids 1000000

#include "../host.h"

struct Point {
    float x, y, z, brightness;
};

struct Voxel {
    float x, y, brightness, count;
};

__host__ __device__ inline int voxel_of(Point point, int cells, int layers) {
    const int i = min((int)(point.x * cells), cells - 1);
    const int j = min((int)(point.y * cells), cells - 1);
    const int k = min((int)(point.z * layers), layers - 1);
    return (k * cells + j) * cells + i;
}

__global__ void add_points(int points, const Point *__restrict__ point, Voxel *voxels, int cells,
                           int layers) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) {
        const Point own = point[i];
        Voxel *voxel = voxels + voxel_of(own, cells, layers);
        atomicAdd(&voxel->x, own.x);
        atomicAdd(&voxel->y, own.y);
        atomicAdd(&voxel->brightness, own.brightness);
        atomicAdd(&voxel->count, 1.0f);
    }
}

__global__ void mean_points(int count, Voxel *voxels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        Voxel own = voxels[i];
        if (own.count > 0.0f) {
            own.x /= own.count;
            own.y /= own.count;
            own.brightness /= own.count;
            voxels[i] = own;
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 100000000);
    const int cells = (int)cbrt(0.5 * n) + 4, layers = cells / 4;
    const int count = cells * cells * layers;
    const std::vector<float> random = quick_values(4 * (size_t)n, 1);
    std::vector<Point> points(n);
    // Three of four points lie near a surface.
    for (int i = 0; i < n; i++) {
        const float *r = random.data() + 4 * (size_t)i;
        const float height = 0.25f * r[0] * r[0] + 0.5f * r[1] * (1.0f - r[1]) + 0.02f * r[2];
        points[i] = {r[0], r[1], i % 4 == 3 ? r[2] : height, r[3]};
    }
    const Point *d_points = to_device(points);
    Voxel *d_voxels = device_zeros<Voxel>(count);

    const int threads = 256;
    add_points<<<(n + threads - 1) / threads, threads>>>(n, d_points, d_voxels, cells, layers);
    mean_points<<<(count + threads - 1) / threads, threads>>>(count, d_voxels);
    finish_launches();

    std::vector<Voxel> sums(count);
    for (const Point &point : points) {
        Voxel &voxel = sums[voxel_of(point, cells, layers)];
        voxel.x += point.x;
        voxel.y += point.y;
        voxel.brightness += point.brightness;
        voxel.count += 1.0f;
    }
    const std::vector<float> out = from_device((const float *)d_voxels, 4 * (size_t)count);
    return verdict(sampled_error(out, [&](size_t e) {
        const Voxel &voxel = sums[e / 4];
        const float parts[4] = {voxel.x, voxel.y, voxel.brightness, voxel.count};
        return e % 4 == 3 || voxel.count == 0.0f ? parts[e % 4] : parts[e % 4] / voxel.count;
    }));
}
