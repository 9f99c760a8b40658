#include <cuda_runtime.h>

void run(dim3 blocks, dim3 threads, const int *from, int *to, int rows, int columns);

void run_part(dim3 threads, const int *from, int *to, int rows, int columns) {
  run(dim3(1, (rows + 15) / 16), threads, from, to, rows, columns);
}
