// EXPECT: tile
// WHY: control: all pairs of integer bodies, tile by tile, with guards in both loops
// SIZES: 64,100,256,300
// NAIVE: TILE in attract: 16, 32, 128 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 64

struct Body {
  int x, y, mass;
};

__global__ void attract(const Body *bodies, int2 *forces, int n) {
  __shared__ Body near[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  Body me = i < n ? bodies[i] : Body{0, 0, 0};
  int fx = 0, fy = 0;
  for (int first = 0; first < n; first += TILE) {
    if (first + threadIdx.x < n)
      near[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
    int count = min(TILE, n - first);
    for (int j = 0; j < count; ++j) {
      int dx = near[j].x - me.x, dy = near[j].y - me.y;
      int far = dx * dx + dy * dy + 1;
      fx += near[j].mass * me.mass * dx / far;
      fy += near[j].mass * me.mass * dy / far;
    }
    __syncthreads();
  }
  if (i < n)
    forces[i] = make_int2(fx, fy);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<Body> bodies(n);
  std::vector<int2> forces(n);
  for (int i = 0; i < n; ++i)
    bodies[i] = {i * 71 % 401, i * 113 % 397, 1 + i % 9};
  Body *d_bodies;
  int2 *d_forces;
  cudaMalloc(&d_bodies, n * sizeof(Body));
  cudaMalloc(&d_forces, n * sizeof(int2));
  cudaMemcpy(d_bodies, bodies.data(), n * sizeof(Body), cudaMemcpyHostToDevice);
  attract<<<(n + TILE - 1) / TILE, TILE>>>(d_bodies, d_forces, n);
  cudaMemcpy(forces.data(), d_forces, n * sizeof(int2), cudaMemcpyDeviceToHost);
  long long x = 0, y = 0;
  for (int i = 0; i < n; ++i) {
    x += (long long)forces[i].x * (i + 1);
    y += (long long)forces[i].y * (i + 1);
  }
  printf("%d bodies: %lld %lld\n", n, x, y);
  return 0;
}
