// Many small systems of linear equations, solved by elimination in shared memory: a block has
// several systems, a system some threads that share its columns. They are dominated by their
// diagonals, so that no rows are exchanged.
//
//     nvcc -O2 -o batched_solve batched_solve.cu && ./batched_solve 1000

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define ORDER 12
#define WIDTH (ORDER + 1) // of a row: its coefficients and its right side

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

template <int LANES, int SYSTEMS>
struct Batch {
    static constexpr int lanes = LANES, systems = SYSTEMS;
    static dim3 block() { return dim3(LANES, SYSTEMS); }
    static dim3 grid(int count) { return dim3((count + SYSTEMS - 1) / SYSTEMS); }
};

template <class Config>
__global__ void solve(const float *equations, float *solutions, int count) {
    __shared__ float all[Config::systems][ORDER][WIDTH];
    float(*rows)[WIDTH] = all[threadIdx.y];
    const int first = blockIdx.x * Config::systems;
    const int here = min(Config::systems, count - first);

    // All threads of the block load all of its systems.
    const int thread = threadIdx.y * Config::lanes + threadIdx.x;
    for (int e = thread; e < here * ORDER * WIDTH; e += Config::lanes * Config::systems)
        (&all[0][0][0])[e] = equations[(size_t)first * ORDER * WIDTH + e];
    __syncthreads();

    const bool active = (int)threadIdx.y < here;
    for (int pivot = 0; pivot < ORDER; pivot++) {
        if (active) {
            const float scale = 1.0f / rows[pivot][pivot];
            for (int column = pivot + 1 + threadIdx.x; column < WIDTH; column += Config::lanes) {
                const float value = rows[pivot][column] * scale;
                rows[pivot][column] = value;
                for (int row = 0; row < ORDER; row++)
                    if (row != pivot) rows[row][column] -= rows[row][pivot] * value;
            }
        }
        __syncthreads();
    }
    if (active)
        for (int row = threadIdx.x; row < ORDER; row += Config::lanes)
            solutions[(size_t)(first + threadIdx.y) * ORDER + row] = rows[row][ORDER];
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1000;
    const size_t size = (size_t)count * ORDER * WIDTH;
    std::vector<float> equations(size), solutions((size_t)count * ORDER);
    unsigned state = 161803;
    for (size_t e = 0; e < size; e++) {
        state = state * 1664525u + 1013904223u;
        equations[e] = (state >> 8) * 0x1p-24f;
        if (e / WIDTH % ORDER == e % WIDTH) equations[e] += ORDER;
    }
    float *d_equations, *d_solutions;
    CHECK(cudaMalloc(&d_equations, size * sizeof(float)));
    CHECK(cudaMalloc(&d_solutions, solutions.size() * sizeof(float)));
    CHECK(cudaMemcpy(d_equations, equations.data(), size * sizeof(float), cudaMemcpyHostToDevice));

    using Config = Batch<16, 8>;
    solve<Config><<<Config::grid(count), Config::block()>>>(d_equations, d_solutions, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(solutions.data(), d_solutions, solutions.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));

    bool right = true;
    for (int system = 0; count <= 20000 && system < count; system++) {
        const float *x = &solutions[(size_t)system * ORDER];
        for (int row = 0; row < ORDER; row++) {
            const float *equation = &equations[((size_t)system * ORDER + row) * WIDTH];
            double left = 0.0;
            for (int column = 0; column < ORDER; column++) left += (double)equation[column] * x[column];
            right = right && fabs(left - equation[ORDER]) < 1e-4;
        }
    }
    double sum = 0.0, squares = 0.0;
    for (float x : solutions) sum += x, squares += (double)x * x;
    printf("%d systems, solutions %.5e, squares %.5e\n", count, sum, squares);
    printf("%s\n", right ? "PASS" : "FAIL");
    CHECK(cudaFree(d_equations));
    CHECK(cudaFree(d_solutions));
    return right ? 0 : 1;
}
