// 2-D convolution (zero padding) with a square filter.
// The block loads its output tile plus a halo of RADIUS pixels on each side
// into shared memory; the filter lives in constant memory.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace conv {

constexpr int kRadius = 3;
constexpr int kFilterWidth = 2 * kRadius + 1;

// output tile handled by one block
constexpr int kTileW = 32;
constexpr int kTileH = 16;

constexpr int kSharedW = kTileW + 2 * kRadius;
constexpr int kSharedH = kTileH + 2 * kRadius;

__constant__ float filter[kFilterWidth * kFilterWidth];

__global__ void convolve(const float* __restrict__ src, float* __restrict__ dst,
                         int width, int height)
{
    __shared__ float patch[kSharedH][kSharedW];

    const int originX = static_cast<int>(blockIdx.x) * kTileW - kRadius;
    const int originY = static_cast<int>(blockIdx.y) * kTileH - kRadius;

    for (int sy = threadIdx.y; sy < kSharedH; sy += kTileH) {
        for (int sx = threadIdx.x; sx < kSharedW; sx += kTileW) {
            const int gx = originX + sx;
            const int gy = originY + sy;
            float v = 0.0f;
            if (gx >= 0 && gx < width && gy >= 0 && gy < height)
                v = src[gy * width + gx];
            patch[sy][sx] = v;
        }
    }
    __syncthreads();

    const int x = blockIdx.x * kTileW + threadIdx.x;
    const int y = blockIdx.y * kTileH + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float sum = 0.0f;
    #pragma unroll
    for (int fy = 0; fy < kFilterWidth; ++fy)
        #pragma unroll
        for (int fx = 0; fx < kFilterWidth; ++fx)
            sum += filter[fy * kFilterWidth + fx] * patch[threadIdx.y + fy][threadIdx.x + fx];
    dst[y * width + x] = sum;
}

}  // namespace conv

static void check(cudaError_t status)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}

static std::vector<float> makeImage(int width, int height)
{
    std::vector<float> img(static_cast<size_t>(width) * height);
    uint32_t state = 42;
    for (auto& p : img) {
        state = state * 1103515245u + 12345u;
        p = static_cast<float>((state >> 16) & 255) / 255.0f;
    }
    return img;
}

static double reference(const std::vector<float>& img, const std::vector<float>& f,
                        int width, int height, int x, int y)
{
    double sum = 0.0;
    for (int fy = 0; fy < conv::kFilterWidth; ++fy)
        for (int fx = 0; fx < conv::kFilterWidth; ++fx) {
            const int gx = x + fx - conv::kRadius;
            const int gy = y + fy - conv::kRadius;
            if (gx >= 0 && gx < width && gy >= 0 && gy < height)
                sum += static_cast<double>(f[fy * conv::kFilterWidth + fx]) *
                       img[static_cast<size_t>(gy) * width + gx];
        }
    return sum;
}

static bool run(int width, int height)
{
    const auto image = makeImage(width, height);
    std::vector<float> result(image.size());
    std::vector<float> taps(conv::kFilterWidth * conv::kFilterWidth);
    for (size_t i = 0; i < taps.size(); ++i)
        taps[i] = 0.01f * static_cast<float>(static_cast<int>(i % 11) - 4);

    const size_t bytes = image.size() * sizeof(float);
    float* d_src = nullptr;
    float* d_dst = nullptr;
    check(cudaMalloc(&d_src, bytes));
    check(cudaMalloc(&d_dst, bytes));
    check(cudaMemcpy(d_src, image.data(), bytes, cudaMemcpyHostToDevice));
    check(cudaMemcpyToSymbol(conv::filter, taps.data(), taps.size() * sizeof(float)));

    const dim3 block(conv::kTileW, conv::kTileH);
    const dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    conv::convolve<<<grid, block>>>(d_src, d_dst, width, height);
    check(cudaGetLastError());
    check(cudaMemcpy(result.data(), d_dst, bytes, cudaMemcpyDeviceToHost));
    check(cudaFree(d_src));
    check(cudaFree(d_dst));

    double checksum = 0.0;
    for (float v : result)
        checksum += v;

    double maxErr = 0.0;
    const size_t stride = std::max<size_t>(1, result.size() / 20000);
    for (size_t i = 0; i < result.size(); i += stride) {
        const int x = static_cast<int>(i % width);
        const int y = static_cast<int>(i / width);
        maxErr = std::max(maxErr, std::fabs(reference(image, taps, width, height, x, y) - result[i]));
    }
    std::cout << "checksum: " << checksum << "\nmax error: " << maxErr << std::endl;
    return maxErr < 1e-4;
}

int main(int argc, char** argv)
{
    try {
        const int width = argc > 1 ? std::stoi(argv[1]) : 1920;
        const int height = argc > 2 ? std::stoi(argv[2]) : (argc > 1 ? width : 1080);
        const bool ok = run(width, height);
        std::cout << (ok ? "PASS" : "FAIL") << std::endl;
        return ok ? 0 : 1;
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\nFAIL" << std::endl;
        return 1;
    }
}
