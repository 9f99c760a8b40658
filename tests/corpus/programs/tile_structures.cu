// Kernels that get structures by value, halves and enumerators. `right_…`: another tile does the same;
// `wrong_…`: it does not; `kept_…`: launched where no copy may run.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define LANES 128
#define OUTPUTS 4
#define SIDE 16
#define WIDTH 64

constexpr int LEFT = 1, PART = 64;

enum Border { zero, nearest };

typedef struct {
    int n;
    const float *x;
    float *y;
} fir_t;

struct Scale {
    float by[3];
    std::size_t rows;
};

struct Image {
    int w, h;
    int below[2];
    float k;
    const float *from;
    float *to;
    Scale scale;
    Border border;
};

struct Lines {
    float by;
    int n;
    float *to;
    const float *from;
};

struct Parted {
    int n;
    int step;
    const int *from;
    int *to;
};

struct Flags {
    int n;
    unsigned is_open : 1;
    const int *from;
    int *to;
};

struct Rows {
    int n;
    float *const *rows;
    float *to;
};

__constant__ float taps[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2};

// Set as a list, the grid made of the variable.
__global__ void right_fir(fir_t of) {
    __shared__ float window[LANES * OUTPUTS + 15];
    const int first = blockIdx.x * (LANES * OUTPUTS);
    for (int w = threadIdx.x; w < LANES * OUTPUTS + 15; w += LANES) {
        const int i = first + w - 15;
        window[w] = i >= 0 && i < of.n ? of.x[i] : 0;
    }
    __syncthreads();
    for (int o = 0; o < OUTPUTS; o++) {
        const int i = o * LANES + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < 16; k++) sum += taps[k] * window[i + 15 - k];
        if (first + i < of.n) of.y[first + i] = sum;
    }
}

// Inner structures, arrays, an enumerator and a size of the library.
__global__ void right_image(Image image) {
    __shared__ float tile[SIDE + 2][SIDE + 2];
    const int w = image.w, h = image.h;
    const int x0 = blockIdx.x * SIDE - 1, y0 = blockIdx.y * SIDE - 1;
    for (int y = threadIdx.y; y < SIDE + 2; y += SIDE)
        for (int x = threadIdx.x; x < SIDE + 2; x += SIDE) {
            const int i = x0 + x, j = y0 + y;
            tile[y][x] = i >= 0 && i < w && j >= 0 && j < h ? image.from[j * w + i] : 0;
        }
    __syncthreads();
    const int i = x0 + 1 + threadIdx.x, j = y0 + 1 + threadIdx.y;
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    const float k = image.border == nearest ? image.k : image.scale.by[0];
    if (i < w && j < h && j < image.scale.rows && i < image.below[0] && j < image.below[1])
        image.to[j * w + i] = k * tile[y][x] + image.scale.by[0] * tile[y][x - 1] +
                              image.scale.by[1] * tile[y][x + 1] + image.scale.by[2] * tile[y - 1][x];
}

// Numbers of two bytes, a vector, and a size.
__global__ void right_halves(const __half *from, float *to, __half by, __nv_bfloat16 more, float4 four,
                             std::size_t n) {
    __shared__ float part[PART + 2 * LEFT];
    const std::size_t i = (std::size_t)blockIdx.x * PART + threadIdx.x;
    part[threadIdx.x + LEFT] = i < n ? __half2float(from[i]) : 0;
    if (threadIdx.x == 0) part[0] = i > 0 && i - 1 < n ? __half2float(from[i - 1]) : 0;
    if (threadIdx.x == PART - 1) part[PART + 1] = i + 1 < n ? __half2float(from[i + 1]) : 0;
    __syncthreads();
    if (i < n)
        to[i] = __half2float(by) * part[threadIdx.x] + four.y * part[threadIdx.x + 1] +
                __bfloat162float(more) * part[threadIdx.x + 2];
}

// Launched in place, and with a number below zero: no copy was tried so.
__global__ void kept_lines(Lines of) {
    __shared__ float part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.from[i] : 0;
    __syncthreads();
    if (i < of.n) of.to[i] = part[threadIdx.x] * of.by;
}

__global__ void kept_parts(Parted of) {
    __shared__ int part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.from[i] : 0;
    __syncthreads();
    if (i < of.n && i >= of.step) of.to[i] = part[threadIdx.x];
}

// A member has the tile's value.
__global__ void wrong_step(Parted of) {
    __shared__ int part[WIDTH];
    const int i = blockIdx.x * of.step + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.from[i] : 0;
    __syncthreads();
    if (i < of.n) of.to[i] = part[(threadIdx.x + 1) % of.step];
}

// The tile has to be what another constant is.
__global__ void wrong_turned(Parted of) {
    __shared__ int part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.from[i] : 0;
    __syncthreads();
    if (i < of.n) of.to[i] = part[63 - threadIdx.x];
}

// Its place is nowhere in the text.
__global__ void wrong_flags(Flags of) {
    __shared__ int part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.from[i] : 0;
    __syncthreads();
    if (i < of.n && of.is_open) of.to[i] = part[threadIdx.x];
}

__global__ void wrong_rows(Rows of) {
    __shared__ float part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.rows[0][i] : 0;
    __syncthreads();
    if (i < of.n) of.to[i] = part[threadIdx.x];
}

// Its text says that it leads to constants.
__global__ void wrong_constants(fir_t of) {
    __shared__ float part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < of.n ? of.y[i] : 0;
    __syncthreads();
    if (i < of.n) const_cast<float *>(of.x)[i] = part[threadIdx.x];
}

// Which of them it reads is computed.
__global__ void wrong_places(Scale of, const float *from, float *to, int n) {
    __shared__ float part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : 0;
    __syncthreads();
    if (i < n) to[i] = part[threadIdx.x] * of.by[i % 3];
}

template <typename T> static T *made(int count) {
    T *const host = (T *)malloc(count * sizeof(T)), *device = nullptr;
    for (int i = 0; i < count; i++) host[i] = T(float(i * 7919 % 101));
    cudaMalloc(&device, count * sizeof(T));
    cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
    free(host);
    return device;
}

template <typename T> static void show(const T *device, int count) {
    T *const host = (T *)malloc(count * sizeof(T));
    cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += double(host[i]) * (i % 17 + 1);
    printf("%.17g\n", sum);
    free(host);
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 100, h = n / 2 + 3;
    fir_t fir = {n, made<float>(n), made<float>(n)};
    right_fir<<<(n + LANES * OUTPUTS - 1) / (LANES * OUTPUTS), LANES>>>(fir);
    show(fir.y, n);

    Image image{};
    image.w = n, image.h = h, image.k = 2, image.border = nearest;
    image.below[0] = n - 1, image.below[1] = h;
    image.from = made<float>(n * h), image.to = made<float>(n * h);
    image.scale = Scale{{1, 2, 3}, std::size_t(h - 1)};
    right_image<<<dim3((n + SIDE - 1) / SIDE, (h + SIDE - 1) / SIDE), dim3(SIDE, SIDE)>>>(image);
    show(image.to, n * h);

    float *const halves = made<float>(n);
    right_halves<<<(n + PART - 1) / PART, PART>>>(made<__half>(n), halves, __half(2.f),
                                                   __nv_bfloat16(3.f), make_float4(1, 2, 3, 4), n);
    show(halves, n);

    const int blocks = (n + WIDTH - 1) / WIDTH;
    float *const line = made<float>(n);
    kept_lines<<<blocks, WIDTH>>>(Lines{2, n, line, line});
    show(line, n);
    Parted parted = {n, -1, made<int>(n), made<int>(n)};
    kept_parts<<<blocks, WIDTH>>>(parted);
    show(parted.to, n);

    parted.step = WIDTH;
    wrong_step<<<blocks, WIDTH>>>(parted);
    show(parted.to, n);
    wrong_turned<<<blocks, WIDTH>>>(parted);
    show(parted.to, n);
    wrong_flags<<<blocks, WIDTH>>>(Flags{n, 1, parted.from, parted.to});
    show(parted.to, n);
    float **rows;
    cudaMalloc(&rows, sizeof *rows);
    cudaMemcpy(rows, &line, sizeof line, cudaMemcpyHostToDevice);
    wrong_rows<<<blocks, WIDTH>>>(Rows{n, rows, halves});
    show(halves, n);
    wrong_constants<<<blocks, WIDTH>>>(fir);
    show(fir.x, n);
    wrong_places<<<blocks, WIDTH>>>(image.scale, line, halves, n);
    show(halves, n);
    return 0;
}
