// Hough transform of an image of edges, n wide: each edge pixel, of which there are about 3 %, adds
// a vote to the 90 lines through it by atomic additions. Angles are a table of whole numbers.
//
//     nvcc -O2 -o hough_lines hough_lines.cu && ./hough_lines 1000

#include "../host.h"

#define ANGLES 90

__global__ void vote(const unsigned char *__restrict__ edges, const int2 *__restrict__ directions,
                     int *votes, int width, int height, int distances) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || edges[y * width + x] == 0) return;
    for (int angle = 0; angle < ANGLES; angle++) {
        const int2 direction = directions[angle];
        const int distance = (x * direction.x + y * direction.y) >> 14;
        atomicAdd(&votes[angle * distances + distance + width], 1);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 30000);
    const int width = n, height = n / 4 * 3 + 1;
    // From -width to the length of the diagonal.
    const int distances = 3 * n + 2;
    std::vector<unsigned char> edges((size_t)width * height);
    for (size_t e = 0; e < edges.size(); e++) {
        const int x = (int)(e % width), y = (int)(e / width);
        const bool line = (3 * x + 5 * y) % 400 < 5 || (7 * x - 2 * y + 2 * height) % 700 < 6;
        edges[e] = line || mixed((uint32_t)e) % 100 == 0 ? 255 : 0;
    }
    std::vector<int2> directions(ANGLES);
    for (int angle = 0; angle < ANGLES; angle++) {
        const double radians = 3.14159265358979 * angle / ANGLES;
        directions[angle] = make_int2((int)lround(16384.0 * cos(radians)),
                                      (int)lround(16384.0 * sin(radians)));
    }
    const unsigned char *d_edges = to_device(edges);
    const int2 *d_directions = to_device(directions);
    int *d_votes = device_zeros<int>((size_t)ANGLES * distances);

    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    vote<<<grid, block>>>(d_edges, d_directions, d_votes, width, height, distances);
    finish_launches();

    // All votes for every eleventh angle.
    std::vector<int> found, wanted;
    const std::vector<int> votes = from_device(d_votes, (size_t)ANGLES * distances);
    for (int angle = 0; angle < ANGLES; angle += 11) {
        const int2 direction = directions[angle];
        const int *own = &votes[(size_t)angle * distances];
        found.insert(found.end(), own, own + distances);
        const size_t first = wanted.size();
        wanted.resize(first + distances, 0);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                if (edges[(size_t)y * width + x] != 0)
                    wanted[first + ((x * direction.x + y * direction.y) >> 14) + width]++;
    }
    return verdict(sampled_error(found, [&](size_t e) { return wanted[e]; }));
}
