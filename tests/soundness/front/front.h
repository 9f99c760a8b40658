#pragma once
// What the programs share.
#include <cstdio>
#include <cstdlib>
#include <vector>
inline int size_of(int argc, char **argv) { return argc > 1 ? std::atoi(argv[1]) : 1000; }
template <class T> T *filled(int n, int step = 1) { T *p; cudaMallocManaged(&p, sizeof(T) * (n + 1)); for (int i = 0; i <= n; i++) p[i] = T(i * step % 97); return p; }
template <class T> void printed(const char *name, const T *p, int n) { cudaDeviceSynchronize(); double s = 0; for (int i = 0; i < n; i++) s += double(p[i]) * (1 + i % 5); std::printf("%s %.10g\n", name, s); }
