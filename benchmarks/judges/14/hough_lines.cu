// Hough transform: each of n edge pixels of a picture of 4096 x 3072 votes for the lines through
// it, one for each of 180 angles, by atomic addition. Cosines and sines are whole numbers of
// 1 / 4096.
//
//     nvcc -O2 -o hough_lines hough_lines.cu && ./hough_lines 40000

#include "../host.h"

#define WIDTH 4096
#define HEIGHT 3072
#define ANGLES 180
#define LARGEST 5120
#define BINS (2 * LARGEST + 1)

__constant__ int2 directions[ANGLES];

__global__ void vote(const short2 *__restrict__ edges, int *__restrict__ votes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const short2 edge = edges[i];
    for (int a = 0; a < ANGLES; a++) {
        const int rho = (edge.x * directions[a].x + edge.y * directions[a].y) >> 12;
        atomicAdd(&votes[a * BINS + rho + LARGEST], 1);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 10000000);
    // Pixels in the order of the picture's rows.
    std::vector<short> edges(2 * (size_t)n);
    const double pace = (double)WIDTH * HEIGHT / n;
    for (int i = 0; i < n; i++) {
        const uint32_t at = (uint32_t)((i + (mixed(i + 121u) >> 8) * (1.0 / 16777216.0)) * pace);
        edges[2 * (size_t)i] = (short)(at % WIDTH);
        edges[2 * (size_t)i + 1] = (short)(at / WIDTH % HEIGHT);
    }
    std::vector<int2> turns(ANGLES);
    for (int a = 0; a < ANGLES; a++) {
        const double angle = a * 3.141592653589793 / ANGLES;
        turns[a] = make_int2((int)lrint(4096 * cos(angle)), (int)lrint(4096 * sin(angle)));
    }
    CHECK(cudaMemcpyToSymbol(directions, turns.data(), ANGLES * sizeof(int2)));
    const short *d_edges = to_device(edges);
    int *d_votes = device_zeros<int>((size_t)ANGLES * BINS);

    const int threads = 512;
    const int blocks = (n + threads - 1) / threads;
    vote<<<blocks, threads>>>((const short2 *)d_edges, d_votes, n);
    finish_launches();

    const std::vector<int> votes = from_device(d_votes, (size_t)ANGLES * BINS);
    std::vector<int> expected((size_t)ANGLES * BINS, 0);
    for (int a = 0; a < ANGLES; a++)
        for (int i = 0; i < n; i++) {
            const int along = edges[2 * (size_t)i] * turns[a].x;
            const int rho = (along + edges[2 * (size_t)i + 1] * turns[a].y) >> 12;
            expected[a * BINS + rho + LARGEST]++;
        }
    return verdict(sampled_error(votes, [&](size_t e) { return expected[e]; }));
}
