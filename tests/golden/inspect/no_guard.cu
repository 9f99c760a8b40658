// Kernels in which no bound may be believed: some effect, or some access, is not under it.
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void read_before(int n, float *a) {
    int i = ID;
    float x = a[i];
    if (i < n) a[i] = x + 1;
}
__global__ void store_after(int n, float *a) {
    int i = ID;
    if (i < n) a[i] = 1;
    a[i] = 2;
}
__global__ void either(int n, int m, float *a) {
    int i = ID;
    if (i < n || i < m) a[i] = 1;
}
__global__ void two_bounds(int n, int m, float *a) {
    int i = ID;
    if (i < n) a[i] = 1;
    if (i < m) a[i] = 2;
}
__global__ void changed_bound(int n, float *a) {
    int i = ID;
    n = n * 2;
    if (i < n) a[i] = 1;
}
__global__ void from_memory(const int *n, float *a) {
    int i = ID;
    if (i < *n) a[i] = 1;
}
__global__ void negative(int n, float *a) {
    int i = ID;
    if (-i < n) a[i] = 1;
}
__global__ void narrow(int n, float *a) {
    short i = ID;
    if (i < n) a[i] = 1;
}
__global__ void real(float n, float *a) {
    int i = ID;
    if (i < n) a[i] = 1;
}
template <typename T>
__global__ void any_type(T n, float *a) {
    int i = ID;
    if (i < n) a[i] = 1;
}
__global__ void not_equal(int n, float *a) {
    int i = ID;
    if (i != n) a[i] = 1;
}
__global__ void looped_return(int n, float *a) {
    int i = ID;
    for (int k = 0; k < 2; k++)
        if (i >= n) break;
    a[i] = 1;
}
__global__ void switched(int n, int mode, float *a) {
    int i = ID;
    switch (mode) {
        case 0:
            if (i >= n) return;
        case 1: a[i] = 1;
    }
}
__global__ void spins(int n, float *a) {
    int i = ID;
    while (i != n) i++;
    if (ID < n) a[ID] = 1;
}
__global__ void flattened(int width, int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j * width + i < n) a[j * width + i] = 1;
}
