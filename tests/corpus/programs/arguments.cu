// Arguments and configurations that do something besides having a value. What the kernels get, and
// all that is printed, must be the same whatever block they get, in the same order.
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <vector>

using namespace std;

__global__ void add(int n, int *x, int value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}

// A name of the standard library.
__global__ void fill(int n, int *x, int value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

template <class T>
__global__ void twice(int n, T *x, int more = 7, T less = -0x1) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += x[i] + more * less;
}

namespace deep {
struct Pair {
    int first, second;
};

static __global__ void pairs(int n, int *x, Pair pair, const int *none) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && none == nullptr) x[i] += pair.first * i + pair.second;
}
}  // namespace deep

// Nobody finds this by its letters.
%:define \
  NEXT (__COUN\
TER__ + 1)
int by_default = 3;
__global__ void defaulted(int n, int *x, int value = by_default) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}

struct Copied {
    int value;
    explicit Copied(int of) : value(of) {}
    Copied(const Copied &other) : value(other.value) { puts("copied"); }
    ~Copied() { puts("destroyed"); }
};
__global__ void copied(int n, int *x, Copied by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += by.value;
}

typedef int (*Function)(int);
__global__ void pointed(int n, int *x, Function) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
int overloaded(int value) { return value; }
double overloaded(double value) { return value; }

struct Counter {
    int count;
    int get() { return ++count; }
    int operator*() { return ++count; }
    int operator+(int value) { return ++count + value; }
    int operator>>(int) { return ++count; }
    operator int() { return ++count; }
};

int said(const char *what, int value) {
    puts(what);
    return value;
}

// Lives until the launch is made.
struct Loud {
    int value;
    explicit Loud(int of) : value(of) { printf("made %d\n", value); }
    ~Loud() { printf("gone %d\n", value); }
    operator int() const { return value; }
    operator dim3() const { return dim3(static_cast<unsigned>(value)); }
};

// Frees when it is destroyed: a copy would do that early.
struct Owner {
    int *memory;
    ~Owner() {
        puts("freed");
        cudaFree(memory);
    }
    operator int *() const { return memory; }
};
namespace state {
Owner owner = {nullptr};
int *table[2];
}  // namespace state

// May not be copied.
struct Handle {
    int *memory;
    explicit Handle(int *to) : memory(to) {}
    Handle(const Handle &) = delete;
    operator int *() const { return memory; }
};

struct Bits {
    int low : 5, high : 7;
};

struct Limits {
    static const int most = 5;
};

const int n = 300;
const unsigned blocks = 5, threads = 64;

void show(const int *x) {
    vector<int> host(n);
    cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);
    unsigned long long sum = 0;
    for (int value : host) sum = sum * 31 + static_cast<unsigned>(value);
    printf("%llx %s\n", sum, cudaGetErrorName(cudaGetLastError()));
}

int launched_within(int *x) {
    add<<<blocks, threads>>>(n, x, 100);
    return 7;
}

int thrown() { throw runtime_error("thrown"); }

template <class T>
void twice_of(T *x) {
    twice<T><<<blocks, threads>>>(n, x);
}

int main() {
    int *x;
    cudaMalloc(&x, n * sizeof(int));
    fill<<<blocks, threads>>>(n, x, 1);
    Counter counter = {0};
    add<<<blocks, threads>>>(n, x, counter.get());
    add<<<blocks, threads>>>(n, x, *counter);
    add<<<blocks, threads>>>(n, x, counter + 10);
    add<<<blocks, threads>>>(n, x, counter >> 0);
    add<<<blocks, threads>>>(n, x, counter);
    int shifted = 1000;
    add<<<blocks, threads>>>(n, x, shifted >>= 1);
    add<<<blocks, threads>>>(n, x, NEXT);
    add<<<blocks, threads>>>(n, x, NEXT);
    // Half of them, were it one line above.
    add<<<blocks,
          __LINE__ == 159 ? threads : threads / 2>>>(n, x, 8);
    add<<<blocks, threads>>>(n, x,
                             __LINE__);
    // Text of another compiler: no marker of this one.
    const char *kernels = R"(
# 1 "other.cl" 3
)";
    add<<<blocks, sizeof(R"(a"b//c)") * 8>>>(n, x, kernels[1]);
    show(x);
    add<<<said("grid", blocks), said("block", threads)>>>(said("n", n), x, said("value", 3));
    add<<<Loud(blocks), Loud(threads)>>>(n, x, Loud(5));
    show(x);
    add<<<blocks, threads>>>(n, x, launched_within(x));
    try {
        add<<<blocks, threads>>>(n, x, thrown());
    } catch (const runtime_error &error) {
        puts(error.what());
    }
    show(x);
    state::owner.memory = x;
    state::table[1] = x;
    add<<<blocks, threads>>>(n, state::owner, 2);
    add<<<blocks, threads>>>(n, state::table[1], Limits::most);
    const Handle handle(x);
    add<<<blocks, threads>>>(n, handle, sizeof(__DATE__));
    state::owner.memory = nullptr;
    const Bits bits = {3, 9};
    add<<<blocks, threads>>>(n, x, bits.high);
    deep::pairs<<<blocks, threads>>>(n, x, {2, 3}, NULL);
    deep::pairs<<<blocks, threads>>>(n, x, deep::Pair{}, 0);
    pointed<<<blocks, threads>>>(n, x, overloaded);
    pointed<<<blocks, threads>>>(n, x, [](int value) { return value; });
    copied<<<blocks, threads>>>(n, x, Copied(4));
    const Copied four(4);
    copied<<<blocks, threads>>>(n, x, four);
    show(x);
    for (int step = 0; step < 3; ++step)
        if (step == 1)
            add<<<blocks, threads>>>(n, x, step++);
        else
            add<<<dim3(blocks), threads, 0, cudaStreamPerThread>>>(n, x, 2);
    cudaDeviceSynchronize();
    twice_of(x);
    twice<<<blocks, threads>>>(n, x);
    defaulted<<<blocks, threads>>>(n, x);
    defaulted<<<blocks, threads>>>(n + 0 * NEXT, x);
    twice<<<blocks, threads>>>(n, x + 0 * NEXT);
    defaulted<<<blocks, threads>>>(n, x, by_default++);
    auto later = [=] { add<<<blocks, threads>>>(n, x, 1); };
    later();
    show(x);
    printf("%d %d %d\n", counter.count, shifted, by_default);
}
