// Unit normals of n triangles. Triangles and normals are structures, which lie one after another.
//
//     nvcc -O2 -o triangle_normals triangle_normals.cu && ./triangle_normals 100000

#include "../judge.h"

struct Vector {
    float x, y, z;
};

struct Triangle {
    Vector a, b, c;
};

__host__ __device__ inline Vector minus(Vector a, Vector b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

__host__ __device__ inline Vector cross(Vector a, Vector b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__host__ __device__ inline Vector scaled(float factor, Vector v) {
    return {factor * v.x, factor * v.y, factor * v.z};
}

__global__ void triangle_normals(int n, const Triangle *triangles, Vector *normals) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const Triangle triangle = triangles[i];
        const Vector normal = cross(minus(triangle.b, triangle.a), minus(triangle.c, triangle.a));
        const float scale =
            rsqrtf(normal.x * normal.x + normal.y * normal.y + normal.z * normal.z + 1e-12f);
        normals[i] = scaled(scale, normal);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 27);
    const std::vector<float> numbers = fixed_values(9 * (size_t)n, 1);
    std::vector<Triangle> triangles(n);
    for (int i = 0; i < n; i++) {
        const float *of = &numbers[9 * (size_t)i];
        triangles[i] = {{of[0], of[1], of[2]}, {of[3], of[4], of[5]}, {of[6], of[7], of[8]}};
    }
    const Triangle *device_triangles = to_device(triangles);
    Vector *device_normals = to_device(std::vector<Vector>(n));

    const int threads_per_block = 256;
    const int blocks_per_grid = (n + threads_per_block - 1) / threads_per_block;
    triangle_normals<<<blocks_per_grid, threads_per_block>>>(n, device_triangles, device_normals);
    finish_launches();

    const std::vector<Vector> found = from_device(device_normals, n);
    std::vector<double> actual(n);
    for (int i = 0; i < n; i++) actual[i] = found[i].x + 2.0 * found[i].y + 3.0 * found[i].z;
    return verdict(sampled_error(actual, [&](size_t i) {
        const Triangle &of = triangles[i];
        const Vector normal = cross(minus(of.b, of.a), minus(of.c, of.a));
        const double x = normal.x, y = normal.y, z = normal.z;
        return (x + 2.0 * y + 3.0 * z) / sqrt(x * x + y * y + z * z + 1e-12);
    }));
}
