// Geography: where rain flows on a map of n x n heights, 16 bits each. First the steepest of the
// eight ways down from each cell, a byte; then a drop from each cell follows them to where no way
// goes down, and is counted there by atomic addition.
//
//     nvcc -O2 -o d8_flow d8_flow.cu && ./d8_flow 1200

#include "../host.h"

#define NO_WAY 8

__constant__ int2 ways[NO_WAY];

// The steepest way down. Slopes are compared as whole numbers: a diagonal is 7 / 5 as long.
__host__ __device__ inline unsigned char steepest(const short *heights, const int2 *way, int n,
                                                  int x, int y) {
    const int own = heights[(size_t)y * n + x];
    int best = 0, found = NO_WAY;
    for (int k = 0; k < NO_WAY; k++) {
        const int nx = x + way[k].x, ny = y + way[k].y;
        if (nx < 0 || ny < 0 || nx >= n || ny >= n) continue;
        const int fall = (own - heights[(size_t)ny * n + nx]) * ((k & 1) ? 5 : 7);
        if (fall > best) {
            best = fall;
            found = k;
        }
    }
    return (unsigned char)found;
}

__global__ void flow_ways(const short *__restrict__ heights, unsigned char *__restrict__ flow,
                          int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    flow[(size_t)y * n + x] = steepest(heights, ways, n, x, y);
}

__global__ void follow_drops(const unsigned char *__restrict__ flow, unsigned *__restrict__ drops,
                             int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int way = flow[(size_t)y * n + x];
    while (way != NO_WAY) {
        x += ways[way].x;
        y += ways[way].y;
        way = flow[(size_t)y * n + x];
    }
    atomicAdd(&drops[(size_t)y * n + x], 1u);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 60, 30000);
    const size_t count = (size_t)n * n;
    std::vector<short> heights = quick_bits<short>(count, 1616);
    // Valleys a hundred cells wide, with bumps.
    std::vector<float> slope(n);
    for (int x = 0; x < n; x++) slope[x] = sinf(0.061f * x);
    for (size_t i = 0; i < count; i++)
        heights[i] = (short)(900.0f * (slope[i % n] + slope[n - 1 - i / n]) + (heights[i] & 15));
    std::vector<int2> own = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    CHECK(cudaMemcpyToSymbol(ways, own.data(), NO_WAY * sizeof(int2)));
    const short *d_heights = to_device(heights);
    unsigned char *d_flow = device_zeros<unsigned char>(count);
    unsigned *d_drops = device_zeros<unsigned>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    flow_ways<<<grid, block>>>(d_heights, d_flow, n);
    follow_drops<<<grid, block>>>(d_flow, d_drops, n);
    finish_launches();

    const std::vector<unsigned char> flow = from_device(d_flow, count);
    const double flow_error = sampled_error(flow, [&](size_t e) {
        return steepest(heights.data(), own.data(), n, (int)(e % n), (int)(e / n));
    });

    // Where the drop of each cell ends; -1 where that is not known yet.
    std::vector<long long> ends(count, -1);
    std::vector<unsigned> expected(count, 0);
    std::vector<size_t> path;
    for (size_t e = 0; e < count; e++) {
        size_t at = e;
        path.clear();
        while (ends[at] < 0 && flow[at] < NO_WAY) {
            path.push_back(at);
            at = (size_t)((long long)at + own[flow[at]].x + (long long)own[flow[at]].y * n);
        }
        const long long end = ends[at] < 0 ? (long long)at : ends[at];
        ends[at] = end;
        for (size_t passed : path) ends[passed] = end;
        expected[end]++;
    }
    const std::vector<unsigned> drops = from_device(d_drops, count);
    double drops_error = 0.0;
    for (size_t e = 0; e < count; e++)
        if (drops[e] != expected[e]) drops_error = 1.0;
    return verdict(fmax(flow_error, drops_error));
}
