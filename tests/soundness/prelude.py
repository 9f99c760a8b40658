"""What all generated programs of a file share: C++ text.

Arrays with fixed contents, checksums of them, and the classes whose use by a launch is counted:
what is evaluated twice, or copied once more, shows in the checksum.
"""

from __future__ import annotations

import re

from tests.soundness.effects import CAPACITY

PRELUDE = f"""\
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <initializer_list>
#include <cuda_runtime.h>

enum {{ CAP = {CAPACITY}, HASHED = 3 * CAP + 32 }};
struct Inner {{ int k; }};
struct Sizes {{ int n, m; int side[2]; Inner in; }};
__constant__ int c_n;
__constant__ int c_table[16] = {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3}};
__device__ int g_out[CAP];
__device__ int g_count, g_n;
"""

HOST = """
static unsigned long long sum;
static int calls, copies, ends;
static void note(long long value) { sum = sum * 1000003u + (unsigned long long)value; }
static void note_text(const char *text) { for (; *text; ++text) note(*text); }
static int counted(int value) { ++calls; return value; }
template <class T> static T counted_any(T value) { ++calls; return value; }
static dim3 counted_dim(dim3 value) { ++calls; return value; }
static int blocks_for(int threads, int block) { return (threads + block - 1) / block; }
#define BLOCKS(threads, block) (((threads) + (block) - 1) / (block))

"""
#: Each is part of a file that names it.
CLASSES = {
    "Counted": """
struct Counted {
  int v;
  __host__ __device__ Counted(int value) : v(value) {}
  __host__ __device__ Counted(const Counted &other) : v(other.v) {
#ifndef __CUDA_ARCH__
    ++copies;
#endif
  }
  __host__ __device__ ~Counted() {
#ifndef __CUDA_ARCH__
    ++ends;
#endif
  }
};
""",
    "Number": """
struct Number {
  int value_; int reads = 0;
  Number(int value) : value_(value) {}
  operator int() { ++reads; return value_; }
};
""",
    "Getter": """
struct Getter {
  int value_; int reads = 0;
  Getter(int value) : value_(value) {}
  int get() { return value_ + reads++; }
  int size() { return value_ - reads++; }
  int value() { return value_ + 2 * reads++; }
  int data() { return value_ + 3 * reads++; }
  int x() { return value_ + 4 * reads++; }
  int begin() { return value_ + 5 * reads++; }
};
""",
    "Configuration": """
struct Configuration {
  unsigned value; int reads = 0;
  Configuration(unsigned v) : value(v) {}
  operator dim3() { return dim3(value + reads++); }
  operator unsigned() { ++reads; return value; }
};
""",
    "Pointer": """
template <class T> struct Pointer {
  T *p; int reads = 0;
  Pointer(T *q) : p(q) {}
  operator T *() { ++reads; return p; }
  T *get() { ++reads; return p; }
  T *begin() { ++reads; return p; }
  T *data() { ++reads; return p; }
};
""",
    "Cursor": """
struct Cursor {
  int values[4]; int at = 0;
  Cursor(int a) : values{a, a + 1, a + 2, a + 3} {}
  Cursor &operator++() { ++at; return *this; }
  int operator++(int) { return values[at++ & 3]; }
  int operator*() { return values[at & 3]; }
  int next() { return values[at++ & 3]; }
};
""",
    "Operators": """
struct Operators {
  int value_; int reads = 0;
  Operators(int value) : value_(value) {}
  int operator()() { return value_ + 6 * reads++; }
  int operator*() { return value_ + reads++; }
  int operator+(int other) { return value_ + other + reads++; }
  int operator-() { return -value_ - reads++; }
  int operator[](int at) { return value_ + at + reads++; }
  int operator->*(int other) { return value_ + other + reads++; }
  int operator<<(int other) { return value_ + other + reads++; }
  int operator==(int other) { return value_ + other + reads++; }
};
""",
}
DATA = """
struct Data {
  int *out, *aux, *in, *in2, *perm, *cnt, *pn, *first;
  float *fl;
  cudaStream_t stream;
  int *host;
  int *get_out() { ++calls; return out; }
};

static void fresh(Data &d, int n) {
  static bool once = false;
  if (!once) {
    once = true;
    cudaMalloc(&d.out, HASHED * 4);
    d.aux = d.out + CAP;
    d.cnt = d.out + 3 * CAP;
    cudaMalloc(&d.in, 3 * CAP * 4);
    d.in2 = d.in + CAP;
    d.perm = d.in + 2 * CAP;
    cudaMalloc(&d.pn, 16);
    cudaMalloc(&d.fl, 64);
    cudaStreamCreate(&d.stream);
    d.host = (int *)malloc(HASHED * 4);
    for (int i = 0; i < CAP; ++i) {
      d.host[i] = (int)(i * 2654435761u >> 22);
      d.host[CAP + i] = (int)(i * 40503u >> 8 & 255);
      d.host[2 * CAP + i] = (int)(i * 24593u + 77u) & (CAP - 1);
    }
    cudaMemcpy(d.in, d.host, 3 * CAP * 4, cudaMemcpyHostToDevice);
  }
  sum = 0; calls = 0; copies = ends = 0;
  for (int i = 0; i < HASHED; ++i) d.host[i] = i * 7 & 127;
  cudaMemcpy(d.out, d.host, HASHED * 4, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(g_out, d.host, CAP * 4);
  cudaMemset(d.fl, 0, 64);
  int values[4] = {n, 2, n / 2, 3}, zero = 0;
  cudaMemcpy(d.pn, values, 16, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(c_n, &n, 4);
  cudaMemcpyToSymbol(g_n, &n, 4);
  cudaMemcpyToSymbol(g_count, &zero, 4);
}

static void look(Data &d) {
  note(cudaGetLastError());
  note(cudaDeviceSynchronize());
  cudaMemcpy(d.host, d.out, HASHED * 4, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(d.host + 2 * CAP, g_out, CAP * 4);
  cudaMemcpyFromSymbol(d.host + 3 * CAP + 24, g_count, 4);
  cudaMemcpy(d.host + 3 * CAP + 25, d.fl, 20, cudaMemcpyDeviceToHost);
  const unsigned long long *words = (const unsigned long long *)d.host;
  unsigned long long a = sum;
  for (int i = 0; i < HASHED / 2; ++i) a = (a ^ words[i]) * 0x9E3779B97F4A7C15ull + (a >> 29);
  sum = a;
}

static void tell(const char *name) {
  note(calls); note(copies); note(ends);
  fflush(stdout);
  printf("%s %016llx\\n", name, sum);
}
"""


def prelude(programs: str) -> str:
    """What stands before programs of such text."""
    used = "".join(text for name, text in CLASSES.items() if re.search(rf"\b{name}\b", programs))
    return PRELUDE + HOST + used + DATA


def main_text(names: list[str]) -> str:
    """`main`, which runs each program with the size that it is given."""
    calls = "\n".join(f'  fresh(d, n); {name}::go(d, n); tell("{name}");' for name in names)
    return (
        "\nint main(int argc, char **argv) {\n"
        "  const int n = argc > 1 ? atoi(argv[1]) : 100;\n"
        "  static Data d;\n"
        f'{calls}\n  printf("end %d\\n", (int)cudaDeviceSynchronize());\n  return 0;\n}}\n'
    )
