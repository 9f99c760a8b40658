// Bounds that hold for every effect, and what they are.
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void widest(int n, float *a) {
    int i = ID;
    if (i < n - 1) a[i] = 1;
    if (i < n) a[i] += 1;
}
__global__ void nested(int n, int m, float *a) {
    int i = ID;
    if (i < n) {
        a[i] = 1;
        if (i < m) a[i] = 2;
    }
}
__global__ void first_only(int n, float *a) {
    int i = ID;
    if (i == 0)
        for (int k = 0; k < n; k++) a[k] = 1;
}
__global__ void every_second(int n, float *a) {
    int i = 2 * ID;
    if (i < n) a[i] = 1;
}
__global__ void even(int n, float *a) {
    int i = ID;
    if (2 * i < n) a[2 * i] = 1;
}
__global__ void triangle(int n, float *a) {
    int i = ID;
    for (int k = i; k < n; k++) a[i * n + k] = 1;
}
__global__ void product(int rows, int columns, float *a) {
    int i = ID;
    if (i < rows * columns) a[i] = 1;
}
__global__ void halved(int n, float *a) {
    int i = ID;
    const int half = n / 2 - 1;
    if (i > half) return;
    a[i] = 1;
}
__global__ void remembered(int n, float *a) {
    int i = ID;
    const bool inside = i >= 1 && i < n;
    if (!inside) return;
    a[i] = 1;
}
__global__ void uniform_read(int n, const int *flag, float *a) {
    int i = ID, wanted = flag[0];
    if (i >= n) return;
    if (wanted) a[i] = 1;
}
__global__ void mirrored(long n, float *a) {
    long i = (long)blockDim.x * blockIdx.x + threadIdx.x;
    if (n > i) a[i] = 1;
}
__global__ void swapped_branches(int n, float *a) {
    int i = ID;
    if (i >= n) {
    } else {
        a[i] = 1;
    }
}
__global__ void short_circuit(int n, float *a) {
    int i = ID;
    float x = i < n ? a[i] : 0;
    if (i < n && a[i] > x) a[i] = x;
}
