// Traffic simulation after Nagel and Schreckenberg: n ring roads of n cells of a byte, in which
// a car has its speed, from 0 to 5. A car accelerates, looks as far ahead as it would drive,
// dawdles at random, and is written where it gets to.
//
//     nvcc -O2 -o traffic_lanes traffic_lanes.cu && ./traffic_lanes 5000

#include "repeated.h"

typedef unsigned char Cell;

#define NO_CAR 255
#define TOP_SPEED 5

__host__ __device__ inline int new_speed(const Cell *road, int length, int x, uint32_t chance) {
    int speed = road[x] < TOP_SPEED ? road[x] + 1 : TOP_SPEED;
    for (int gap = 1; gap <= speed; gap++) {
        const int ahead = x + gap < length ? x + gap : x + gap - length;
        if (road[ahead] != NO_CAR) {
            speed = gap - 1;
            break;
        }
    }
    if (speed > 0 && chance % 8 == 0) speed--;
    return speed;
}

__global__ void drive(const Cell *__restrict__ now, Cell *__restrict__ next, int length, int roads,
                      uint32_t step) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= length || y >= roads) return;
    const size_t start = (size_t)y * length;
    if (now[start + x] == NO_CAR) return;
    const int speed = new_speed(now + start, length, x, mixed(step + (uint32_t)(start + x)));
    next[start + (x + speed) % length] = (Cell)speed;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 40000);
    const size_t count = (size_t)n * n;
    const uint32_t step = mixed(9);
    const size_t made = piece_of(count, (size_t)64 * n);
    std::vector<Cell> cells = quick_bits<Cell>(made, 61);
    for (Cell &cell : cells) cell = cell < 60 ? (Cell)(cell % (TOP_SPEED + 1)) : NO_CAR;
    const Cell *d_now = repeated_on_device(cells, count);
    Cell *d_next = device_zeros<Cell>(count);
    CHECK(cudaMemset(d_next, NO_CAR, count));

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    drive<<<grid, block>>>(d_now, d_next, n, n, step);
    finish_launches();

    return verdict(sampled_error(from_device(d_next, count), [&](size_t e) {
        const size_t start = e / n * n;
        const Cell *road = cells.data() + start % made;
        const int x = (int)(e % n);
        for (int back = 0; back <= TOP_SPEED && back < n; back++) {
            const int from = (x - back + n) % n;
            if (road[from] == NO_CAR) continue;
            const uint32_t chance = mixed(step + (uint32_t)(start + from));
            if (new_speed(road, n, from, chance) == back) return back;
        }
        return NO_CAR;
    }));
}
