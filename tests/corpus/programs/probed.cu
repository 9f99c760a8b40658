// Launches that a probe must not disturb. The output is the same in every mode of the probe.
#include <cstdio>

struct View {
    int n;
    float *data;
};

__global__ void in_place(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 2.0f + 1.0f;
}

__global__ void copy(int n, const float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += from[i];
}

// The thread space alone says which threads run.
__global__ void through_view(View view) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    view.data[i] = view.data[i] * 3.0f + 1.0f;
}

static void show(const char *what, const float *device, int n) {
    const cudaError_t last = cudaGetLastError();
    float host[1024];
    cudaMemcpy(host, device, static_cast<size_t>(n) * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(host[i]);
    printf("%s: %g, %s\n", what, sum, cudaGetErrorName(last));
}

int main() {
    const int n = 1000;
    float *x, *y;
    cudaMalloc(&x, 1024 * sizeof(float));
    cudaMalloc(&y, 1024 * sizeof(float));
    cudaMemset(x, 0, 1024 * sizeof(float));
    cudaMemset(y, 0, 1024 * sizeof(float));
    cudaStream_t stream;
    cudaStreamCreate(&stream);

    in_place<<<4, 256>>>(n, x);
    show("in place", x, n);
    in_place<<<4, 256, 0, stream>>>(n, x);
    cudaStreamSynchronize(stream);
    show("on a stream", x, n);
    for (int step = 0; step < 3; step++) copy<<<dim3((n + 127) / 128), 128>>>(n, x, y);
    show("in a loop", y, n);
    View view = {n, x};
    through_view<<<8, 128>>>(view);
    show("through a structure", x, 1024);

    in_place<<<4, 4096>>>(n, x);
    show("refused by the device", x, n);
    cudaMemcpy(nullptr, x, 16, cudaMemcpyDeviceToHost);
    in_place<<<4, 256>>>(n, x);
    show("while an error is pending", x, n);
    in_place<<<0, 256>>>(n, x);
    show("without blocks", x, n);

    cudaFree(x);
    cudaFree(y);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
