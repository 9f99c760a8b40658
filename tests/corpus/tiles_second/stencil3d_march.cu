/*
 * 7-point stencil on a 3-D grid. 2.5-D blocking: a thread block covers a
 * BLOCK_X x BLOCK_Y patch of the xy plane and marches along z over Z_CHUNK
 * planes; the current plane sits in shared memory, the planes behind and in
 * front in registers.
 *
 * stencil3d_march NX NY NZ
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define BLOCK_X 32
#define BLOCK_Y 8
#define Z_CHUNK 32

#define IDX(x, y, z) (((size_t)(z) * ny + (y)) * nx + (x))
#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

__global__ void stencil7(const float *__restrict__ in, float *__restrict__ out,
                         int nx, int ny, int nz, float c0, float c1)
{
    __shared__ float plane[BLOCK_Y + 2][BLOCK_X + 2];

    const int tx = threadIdx.x + 1;
    const int ty = threadIdx.y + 1;
    const int x = blockIdx.x * BLOCK_X + threadIdx.x;
    const int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int z_begin = blockIdx.z * Z_CHUNK;
    const int z_end = min(z_begin + Z_CHUNK, nz);
    const bool in_grid = (x < nx) && (y < ny);

    float behind = 0.0f, current = 0.0f, front = 0.0f;
    if (in_grid) {
        if (z_begin > 0)
            behind = in[IDX(x, y, z_begin - 1)];
        current = in[IDX(x, y, z_begin)];
    }

    for (int z = z_begin; z < z_end; z++) {
        front = (in_grid && z + 1 < nz) ? in[IDX(x, y, z + 1)] : 0.0f;

        plane[ty][tx] = current;
        if (threadIdx.x == 0)
            plane[ty][0] = (in_grid && x > 0) ? in[IDX(x - 1, y, z)] : 0.0f;
        if (threadIdx.x == BLOCK_X - 1)
            plane[ty][BLOCK_X + 1] = (x + 1 < nx && y < ny) ? in[IDX(x + 1, y, z)] : 0.0f;
        if (threadIdx.y == 0)
            plane[0][tx] = (in_grid && y > 0) ? in[IDX(x, y - 1, z)] : 0.0f;
        if (threadIdx.y == BLOCK_Y - 1)
            plane[BLOCK_Y + 1][tx] = (x < nx && y + 1 < ny) ? in[IDX(x, y + 1, z)] : 0.0f;
        __syncthreads();

        if (in_grid) {
            out[IDX(x, y, z)] =
                c0 * current +
                c1 * (plane[ty][tx - 1] + plane[ty][tx + 1] +
                      plane[ty - 1][tx] + plane[ty + 1][tx] + behind + front);
        }
        __syncthreads();

        behind = current;
        current = front;
    }
}

static float at(const float *g, int nx, int ny, int nz, int x, int y, int z)
{
    if (x < 0 || x >= nx || y < 0 || y >= ny || z < 0 || z >= nz)
        return 0.0f;
    return g[IDX(x, y, z)];
}

int main(int argc, char **argv)
{
    int nx = 256, ny = 256, nz = 128;
    if (argc == 2)
        nx = ny = nz = atoi(argv[1]);
    if (argc >= 4) {
        nx = atoi(argv[1]);
        ny = atoi(argv[2]);
        nz = atoi(argv[3]);
    }
    const float c0 = 0.4f, c1 = 0.1f;
    const size_t cells = (size_t)nx * ny * nz;
    const size_t bytes = cells * sizeof(float);

    float *h_in = (float *)malloc(bytes);
    float *h_out = (float *)malloc(bytes);
    for (size_t i = 0; i < cells; i++)
        h_in[i] = (float)((i * 7919u + (i >> 7) * 31u) % 1000u) * 0.001f;

    float *d_in, *d_out;
    if (cudaMalloc((void **)&d_in, bytes) != cudaSuccess ||
        cudaMalloc((void **)&d_out, bytes) != cudaSuccess) {
        fprintf(stderr, "cannot allocate %zu bytes on the device\n", 2 * bytes);
        return 1;
    }
    cudaMemcpy(d_in, h_in, bytes, cudaMemcpyHostToDevice);
    cudaMemset(d_out, 0, bytes);

    dim3 threads(BLOCK_X, BLOCK_Y, 1);
    dim3 blocks(DIV_UP(nx, BLOCK_X), DIV_UP(ny, BLOCK_Y), DIV_UP(nz, Z_CHUNK));
    stencil7<<<blocks, threads>>>(d_in, d_out, nx, ny, nz, c0, c1);

    cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) {
        fprintf(stderr, "kernel failed: %s\n", cudaGetErrorString(err));
        return 1;
    }
    cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost);

    int wrong = 0;
    double checksum = 0.0;
    for (size_t i = 0; i < cells; i++)
        checksum += h_out[i];
    size_t step = cells > 100000 ? 13 : 1;
    for (size_t i = 0; i < cells; i += step) {
        int x = (int)(i % nx), y = (int)((i / nx) % ny), z = (int)(i / ((size_t)nx * ny));
        double ref = (double)c0 * h_in[i] +
            (double)c1 * ((double)at(h_in, nx, ny, nz, x - 1, y, z) + at(h_in, nx, ny, nz, x + 1, y, z) +
                          at(h_in, nx, ny, nz, x, y - 1, z) + at(h_in, nx, ny, nz, x, y + 1, z) +
                          at(h_in, nx, ny, nz, x, y, z - 1) + at(h_in, nx, ny, nz, x, y, z + 1));
        if (fabs(ref - h_out[i]) > 1e-5 * (1.0 + fabs(ref)))
            wrong++;
    }

    printf("grid %dx%dx%d checksum %.4f wrong %d\n", nx, ny, nz, checksum, wrong);
    printf(wrong ? "FAIL\n" : "PASS\n");

    cudaFree(d_in);
    cudaFree(d_out);
    free(h_in);
    free(h_out);
    return wrong ? 1 : 0;
}
