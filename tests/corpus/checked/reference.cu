// What each task of kernels.cu asks for, in the plainest way. `way` / 100 is the task.
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void dot(const float *a, const float *b, float *c, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    c[0] = sum;
}

__global__ void multiply(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[j * n + k] * b[k * n + i];
    c[j * n + i] = sum;
}

__global__ void smooth(const float *a, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    c[i] = ((i > 0 ? a[i - 1] : 0) + 2 * a[i] + (i + 1 < n ? a[i + 1] : 0)) / 4;
}

constexpr int COLUMNS = 24;

__global__ void softmax(const float *a, float *c, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float largest = a[row * COLUMNS], sum = 0;
    for (int i = 1; i < COLUMNS; i++) largest = fmaxf(largest, a[row * COLUMNS + i]);
    for (int i = 0; i < COLUMNS; i++) sum += expf(a[row * COLUMNS + i] - largest);
    for (int i = 0; i < COLUMNS; i++)
        c[row * COLUMNS + i] = expf(a[row * COLUMNS + i] - largest) / sum;
}

extern "C" void solve(const float *a, const float *b, float *c, int n, int way) {
    int blocks = (n + 127) / 128, side = n % 64;
    switch (way / 100) {
    case 1: add<<<blocks, 128>>>(a, b, c, n); break;
    case 2: dot<<<1, 1>>>(a, b, c, n); break;
    case 3: multiply<<<dim3(1, side), 64>>>(a, b, c, side); break;
    case 4: smooth<<<blocks, 128>>>(a, c, n); break;
    case 5: softmax<<<blocks, 128>>>(a, c, n); break;
    }
    cudaDeviceSynchronize();
}
