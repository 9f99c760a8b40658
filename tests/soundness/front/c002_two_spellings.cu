// EXPECT: tunable
#include "front.h"
#include "sub/../c002.cuh"
#define NAME three
#include "./c002.cuh"
#define NAME three_again
#include "c002.cuh"
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n);
    twice(y, n); three(y, n); three_again(y, n);
    scale<<<(n + 127) / 128, 128>>>(y, 0.5f, n);
    printed("y", y, n);
}
