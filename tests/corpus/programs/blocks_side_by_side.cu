// Kernels whose blocks share memory. `right_…`: what several blocks do may stand side by side in the
// text of one; `wrong_…`: it would mean something else there, or nobody can tell.
#include <cstdio>
#include <cstdlib>

#define T 64
#define PLACE(t) (i * 3 + (t))
#define HERE (blockIdx.x * T + threadIdx.x)
#define WAIT() __syncthreads()
#define NUMBERED(number) value##number
#define LARGER(p, q) ((p) > (q) ? (p) : (q))

struct place {
    int i, s;
};

const int width = 96, value0 = 1000, weightless = 0;
__shared__ int of_file[T];

__device__ int told(int &) { return 1; }
__device__ int told(const int &) { return 2; }

__device__ int kept_in_function(int value) {
    __shared__ int own[T];
    own[threadIdx.x] = value;
    __syncthreads();
    const int found = own[T - 1 - threadIdx.x];
    __syncthreads();
    return found;
}

// Members have names of variables, and variables those of others further out.
__global__ void right_names(const int *a, int *b, int n) {
    __shared__ int s[T], one;
    place of;
    of.i = blockIdx.x * T + threadIdx.x;
    of.s = of.i < n ? a[of.i] : 0;
    int i = of.i, value = of.s;
    if (threadIdx.x == 0) one = value;
    s[threadIdx.x] = value;
    __syncthreads();
    for (int s = 0; s < 3; s++) {
        const int i = s * 2;
        value += i;
    }
    { int value = 5; of.s += value; }
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + value + of.s + one;
}

// Loops with barriers in one another, and one that is left early without any.
__global__ void right_loops(const int *a, int *b, int n) {
    __shared__ int s[2][T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int outer = 0; outer < 2 + (n > 0); outer++) {
        const int from = outer & 1;
        s[from][threadIdx.x] = i < n ? a[i] + outer : 0;
        __syncthreads();
        for (int inner = outer; inner < 4; ++inner) {
            sum += s[from][(threadIdx.x + inner) % T];
            __syncthreads();
            if (inner == 2) s[from][threadIdx.x] += outer;
            __syncthreads();
        }
    }
    for (int k = 0; k < T; k++) {
        if (k > (int)threadIdx.x) break;
        sum += k;
    }
    if (i >= n) return;
    b[i] = sum;
}

__global__ void right_unrolled(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x] = i < n ? a[i] + k : 0;
        __syncthreads();
#pragma unroll 2
        for (int j = 0; j < 8; j++) sum += s[threadIdx.x ^ j];
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

// A condition of the preprocessor is no loop's.
__global__ void wrong_condition(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
#ifdef T
    if (i < n) b[i] = s[T - 1 - threadIdx.x];
#endif
}

// What is declared in several ways.
__global__ void right_declared(const int *a, int *b, int n) {
    __shared__ int s[T];
    unsigned long long const first = blockIdx.x * (unsigned long long)T;
    const int *const from = a + first, *last = a + n;
    int own[2] = {3, 4}, i(threadIdx.x), twice{2 * i};
    s[i] = from + i < last ? from[i] + own[i & 1] : 0;
    __syncthreads();
    auto found = s[(i + 1) % T];
    if (from + i < last) b[first + i] = found + own[0] + twice;
}

// What sizes beyond those that are tried do, blocks do beside each other, too.
__global__ void right_far(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] + (n >> 20) : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] * (n & 8192 ? 3 : n * n);
}

// Each block changes its own copy of a parameter.
__global__ void right_parameter(const int *a, int *b, int n) {
    __shared__ int s[T];
    n -= blockIdx.x * T;
    s[threadIdx.x] = (int)threadIdx.x < n ? a[blockIdx.x * T + threadIdx.x] : 0;
    __syncthreads();
    if ((int)threadIdx.x < n) b[blockIdx.x * T + threadIdx.x] = s[T - 1 - threadIdx.x] + n;
}

__global__ void right_moved(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    a += blockIdx.x * T, b += blockIdx.x * T;
    s[threadIdx.x] = i < n ? a[threadIdx.x] : 0;
    __syncthreads();
    if (i < n) b[threadIdx.x] = s[T - 1 - threadIdx.x];
}

// The head's variable is changed once for each block.
__global__ void wrong_step(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 8; k++) {
        s[threadIdx.x] = i < n ? a[i] + k : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        k++;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

// What a function gives may be another number each time.
__device__ int steps_of(int n) { return 2 + (n & 1); }
__global__ void wrong_called(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < steps_of(n); k++) {
        s[threadIdx.x] = i < n ? a[i] + k : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

// Constants have another member function, which tells another number far away.
struct counter {
    int at;
    __device__ counter(int begin) : at(begin) {}
    __device__ operator int() const { return at; }
    __device__ counter &operator++() { return ++at, *this; }
    __device__ int told() { return at; }
    __device__ int told() const { return at < 20000 ? at : 0; }
};
__global__ void wrong_class(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (counter k = 0; k < n; ++k) {
        s[threadIdx.x] = i < n ? a[i] : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x] + k.told();
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

// Blocks make as many steps as their places say.
__global__ void wrong_head(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x, steps = blockIdx.x & 3;
    int sum = 0;
    for (int k = 0; k <= steps; k++) {
        s[threadIdx.x] = i < n ? a[i] + k : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void wrong_left(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        if (blockIdx.x % 3 == 1 && k == 2) break;
        s[threadIdx.x] = i < n ? a[i] + k : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void wrong_branch(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (blockIdx.x % 2 == 0) {
        s[threadIdx.x] += 1;
        __syncthreads();
    }
    if (i < n) b[i] = s[T - 1 - threadIdx.x];
}

// The macro names a variable, which several blocks have under other names.
__global__ void wrong_macro(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + PLACE(1);
}

__global__ void wrong_place(const int *a, int *b, int n) {
    __shared__ int s[T];
    s[threadIdx.x] = HERE < n ? a[HERE] : 0;
    __syncthreads();
    if (HERE < n) b[HERE] = s[T - 1 - threadIdx.x];
}

__global__ void wrong_hidden(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    WAIT();
    const int found = s[T - 1 - threadIdx.x];
    __syncthreads();
    if (i < n) b[i] = found;
}

// Arrays of a function, and of the file, are there once.
__global__ void wrong_function(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int found = kept_in_function(s[T - 1 - threadIdx.x]);
    if (i < n) b[i] = found;
}

__global__ void wrong_file(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = of_file[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + of_file[threadIdx.x ^ 1];
}

// A name that means another constant before the body declares its own.
__global__ void wrong_width(const int *a, int *b, int n) {
    constexpr int width = T;
    __shared__ int s[width];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[width - 1 - threadIdx.x] + (int)(sizeof(s) / sizeof(int));
}

__global__ void wrong_before(const int *a, int *b, int n) {
    const int wide = width;
    __shared__ int s[T], width;
    const int i = blockIdx.x * T + threadIdx.x;
    if (threadIdx.x == 0) width = blockIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + wide + width;
}

// Threads that return are not gone where others go on for another block.
__global__ void wrong_early(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    if (blockIdx.x % 3 == 2) return;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x];
}

// Nothing tells that both are declared.
__global__ void wrong_binding(const int *a, int *b, int n) {
    __shared__ int s[T];
    auto [i, other] = place{int(blockIdx.x * T + threadIdx.x), 2};
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + other;
}

// Sizes that are not tried change a parameter, or the constant of a loop's head, or call another
// function for it.
__global__ void right_cast(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    if (n > 8192) (int &)n -= blockIdx.x;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + n;
}

__global__ void wrong_address(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 8; k++) {
        s[threadIdx.x] = i < n ? a[i] + k : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        if (n > 8192) ++*(int *)&k;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void right_overload(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + (n > 8192 ? told(n) : 2);
}

// The macro names a variable that hides a constant.
__global__ void wrong_joined(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x, value0 = i * 3;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x] + (n > 8192 ? NUMBERED(0) : value0);
}

__global__ void right_masked(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0, *const to = &sum;
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = i < n ? a[LARGER(i, 0)] + (k & n) : 0;
        __syncthreads();
        *to += s[T - 1 - threadIdx.x] + ((sum) & k);
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

// A comma behind a `<` may begin another variable, of a body or of a loop's head.
__global__ void right_commas(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int inside = i < n, weight = 2;
    int sum = 0;
    for (int k = 0 < weightless, end = 4; k < end; k++) {
        s[threadIdx.x] = inside ? a[i] * weight : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        weight++;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void wrong_end(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0 < weightless, end = 4; k < end; k++) {
        s[threadIdx.x] = i < n ? a[i] : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x];
        if (n > 8192) end--;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

// What tells constants from variables is told of the kernel's own ones.
template <class V> struct is { static constexpr int constant = 0; };
template <class V> struct is<const V> { static constexpr int constant = 1; };
struct teller {
    int at;
    __device__ teller(int &x) : at(x + 1) {}
    __device__ teller(const int &x) : at(x + 2) {}
    template <class V> __device__ int operator()(V &) const { return is<V>::constant; }
};
__global__ void right_told(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 3 + (n > 0); k++) {
        s[threadIdx.x] = i < n ? a[i] : 0;
        __syncthreads();
        sum += s[T - 1 - threadIdx.x] * teller{n}.at + teller(k)(k) + 2 * teller(n)(n);
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

#define ALIGNED __align__(16)
__global__ void right_aligned(const int *a, int *b, int n) {
    __shared__ ALIGNED int s[T + 2];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int4 v = reinterpret_cast<const int4 *>(s)[threadIdx.x / 4];
    if (i < n) b[i] = v.x + 2 * v.y - v.z + 3 * v.w;
}

// A macro changes what blocks share, for each of them.
#define LESS() (n -= 1)
__global__ void wrong_common(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x, own = n;
    s[threadIdx.x] = i < own ? a[i] : 0;
    LESS();
    __syncthreads();
    if (i < own) b[i] = s[T - 1 - threadIdx.x] + n;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 500;
    int *a, *b, *const host = (int *)malloc(n * sizeof(int));
    cudaMalloc((void **)&a, n * sizeof(int));
    cudaMalloc((void **)&b, n * sizeof(int));
    for (int i = 0; i < n; i++) host[i] = i * 7 % 31;
    cudaMemcpy(a, host, n * sizeof(int), cudaMemcpyHostToDevice);
    const auto look = [&](const char *name) {
        cudaMemcpy(host, b, n * sizeof(int), cudaMemcpyDeviceToHost);
        unsigned sum = 0;
        for (int i = 0; i < n; i++) sum = sum * 31 + (unsigned)host[i];
        printf("%s %u\n", name, sum);
        cudaMemset(b, 0, n * sizeof(int));
    };
    cudaMemset(b, 0, n * sizeof(int));
    right_names<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_names");
    right_loops<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_loops");
    right_declared<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_declared");
    right_far<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_far");
    right_parameter<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_parameter");
    right_moved<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_moved");
    wrong_step<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_step");
    wrong_called<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_called");
    wrong_head<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_head");
    wrong_left<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_left");
    wrong_branch<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_branch");
    wrong_macro<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_macro");
    wrong_place<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_place");
    wrong_hidden<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_hidden");
    wrong_class<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_class");
    wrong_function<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_function");
    wrong_file<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_file");
    wrong_width<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_width");
    wrong_before<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_before");
    wrong_early<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_early");
    wrong_binding<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_binding");
    right_unrolled<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_unrolled");
    wrong_condition<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_condition");
    right_cast<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_cast");
    wrong_address<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_address");
    right_overload<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_overload");
    wrong_joined<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_joined");
    right_masked<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_masked");
    right_commas<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_commas");
    right_told<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_told");
    right_aligned<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_aligned");
    wrong_common<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_common");
    wrong_end<<<(n + T - 1) / T, T>>>(a, b, n);
    look("wrong_end");
    return cudaDeviceSynchronize() != cudaSuccess;
}
