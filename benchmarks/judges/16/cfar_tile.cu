// Signal processing: a radar's map of n distances x n speeds. First the power of each complex
// number, speeds from the most negative on, weighted by distance; then how far each cell stands
// out of the 9 x 9 around it but for the inner 3 x 3, with a tile of 16 x 16 and its margin in
// shared memory.
//
//     nvcc -O2 -o cfar_tile cfar_tile.cu && ./cfar_tile 1500

#include "../host.h"

#define TILE 16
#define REACH 4
#define SPAN (TILE + 2 * REACH)

__global__ void echo_power(const float2 *__restrict__ echoes, float *__restrict__ power, int n) {
    const int speed = blockIdx.x * blockDim.x + threadIdx.x;
    const int distance = blockIdx.y * blockDim.y + threadIdx.y;
    if (speed >= n || distance >= n) return;
    const int from = speed < n / 2 ? speed + (n + 1) / 2 : speed - n / 2;
    const float2 echo = echoes[(size_t)distance * n + from];
    const float far = (distance + 1.0f) / n;
    power[(size_t)distance * n + speed] = (echo.x * echo.x + echo.y * echo.y) * far * far;
}

__global__ void stand_out(const float *__restrict__ power, float *__restrict__ ratios, int n) {
    __shared__ float tile[SPAN][SPAN];
    const int left = blockIdx.x * TILE - REACH, top = blockIdx.y * TILE - REACH;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < SPAN * SPAN; i += TILE * TILE) {
        const int x = left + i % SPAN, y = top + i / SPAN;
        const bool inside = x >= 0 && y >= 0 && x < n && y < n;
        tile[i / SPAN][i % SPAN] = inside ? power[(size_t)y * n + x] : 0.0f;
    }
    __syncthreads();
    const int speed = blockIdx.x * TILE + threadIdx.x;
    const int distance = blockIdx.y * TILE + threadIdx.y;
    if (speed >= n || distance >= n) return;
    float all = 0.0f, inner = 0.0f;
    for (int dy = 0; dy <= 2 * REACH; dy++)
        for (int dx = 0; dx <= 2 * REACH; dx++)
            all += tile[threadIdx.y + dy][threadIdx.x + dx];
    for (int dy = REACH - 1; dy <= REACH + 1; dy++)
        for (int dx = REACH - 1; dx <= REACH + 1; dx++)
            inner += tile[threadIdx.y + dy][threadIdx.x + dx];
    const float noise = (all - inner) / 72.0f;
    ratios[(size_t)distance * n + speed] =
        tile[threadIdx.y + REACH][threadIdx.x + REACH] / (noise + 1e-3f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 40000);
    const size_t count = (size_t)n * n;
    std::vector<float> echoes = quick_values(2 * count, 1614);
    for (float &echo : echoes) echo += 0.2f;
    const float *d_echoes = to_device(echoes);
    float *d_power = device_zeros<float>(count), *d_ratios = device_zeros<float>(count);

    dim3 block(32, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    echo_power<<<grid, block>>>((const float2 *)d_echoes, d_power, n);
    dim3 tile(TILE, TILE);
    dim3 tiles((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    stand_out<<<tiles, tile>>>(d_power, d_ratios, n);
    finish_launches();

    const std::vector<float> power = from_device(d_power, count);
    const double power_error = sampled_error(power, [&](size_t e) {
        const int speed = (int)(e % n), distance = (int)(e / n);
        const size_t from = (size_t)distance * n + (speed + (n + 1) / 2) % n;
        const double re = echoes[2 * from], im = echoes[2 * from + 1], far = (distance + 1.0) / n;
        return (re * re + im * im) * far * far;
    });
    const std::vector<float> ratios = from_device(d_ratios, count);
    const double ratio_error = sampled_error(ratios, [&](size_t e) {
        const int speed = (int)(e % n), distance = (int)(e / n);
        double noise = 0.0;
        for (int y = distance - REACH; y <= distance + REACH; y++)
            for (int x = speed - REACH; x <= speed + REACH; x++) {
                if (x < 0 || y < 0 || x >= n || y >= n) continue;
                if (abs(x - speed) <= 1 && abs(y - distance) <= 1) continue;
                noise += power[(size_t)y * n + x];
            }
        return power[e] / (noise / 72.0 + 1e-3);
    });
    return verdict(fmax(power_error, ratio_error));
}
