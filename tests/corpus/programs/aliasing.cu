// Launches of one kernel with arrays that meet, or do not: by the word that it is given.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__device__ float filed[64];

// Where the two are one array, what is written is read again.
__global__ void mix(int n, float *to, const float *from) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] = 1;
        for (int k = 0; k < 4; ++k) to[i] += from[i] * k;
    }
}

static void launch(int n, float *to, const float *from) { mix<<<(n + 31) / 32, 32>>>(n, to, from); }

static float *allocated(const char *kind, int n) {
    void *found = nullptr;
    if (strcmp(kind, "managed") == 0) cudaMallocManaged(&found, n * sizeof(float));
    else if (strcmp(kind, "pool") == 0) cudaMallocAsync(&found, n * sizeof(float), 0);
    else if (strcmp(kind, "mapped") == 0) cudaHostAlloc(&found, n * sizeof(float), cudaHostAllocMapped);
    else cudaMalloc(&found, n * sizeof(float));
    cudaMemset(found, 0, n * sizeof(float));
    return static_cast<float *>(found);
}

// Memory of device 1, which device 0 may use. Its variables are none: on two H100 device 0 reads
// something else at their addresses.
static float *of_the_other_device(const char *kind, int n) {
    void *found = nullptr;
    cudaMemAccessDesc access = {};
    cudaMemPool_t pool;
    int can = 0;
    if (cudaDeviceCanAccessPeer(&can, 0, 1) != cudaSuccess || !can) exit(77);
    cudaDeviceEnablePeerAccess(1, 0);
    cudaSetDevice(1);
    if (strcmp(kind, "peer-pool") == 0) {
        access.location.type = cudaMemLocationTypeDevice;
        access.flags = cudaMemAccessFlagsProtReadWrite;
        cudaDeviceGetDefaultMemPool(&pool, 1);
        cudaMemPoolSetAccess(pool, &access, 1);
        cudaMallocAsync(&found, n * sizeof(float), 0);
    } else {
        cudaMalloc(&found, n * sizeof(float));
    }
    cudaMemset(found, 0, 64 * sizeof(float));
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    return static_cast<float *>(found);
}

int main(int, char **words) {
    const char *const kind = words[1];
    const int n = 64;
    float *one = allocated(kind, 2 * n), *other = allocated(kind, 2 * n);
    if (strcmp(kind, "same") == 0) other = one;
    if (strcmp(kind, "overlap") == 0) other = one + n / 2;
    if (strcmp(kind, "halves") == 0) other = one + n;
    if (strcmp(kind, "filed") == 0) cudaGetSymbolAddress(reinterpret_cast<void **>(&other), filed);
    if (strncmp(kind, "peer", 4) == 0) other = of_the_other_device(kind, 2 * n);
    if (strcmp(kind, "peer-same") == 0) one = other;
    if (strcmp(kind, "peer-halves") == 0) one = other + n;
    // One warp: where arrays overlap its threads keep step.
    const int count = strcmp(kind, "overlap") == 0 ? 32 : n;
    launch(count, one, other);
    launch(count, other, one);
    launch(count, one, other);
    if (strcmp(kind, "again") == 0) {
        cudaFree(one);
        cudaFree(other);
        one = allocated(kind, 4 * n);
        other = one + 2 * n;
        for (int i = 0; i < 3; ++i) launch(n, one, one);
        launch(n, one, other);
    }
    if (strcmp(kind, "pending") == 0) {
        // An error of the program's, which it asks about behind a launch that may not run a variant.
        void *none = nullptr;
        cudaMalloc(&none, ~static_cast<size_t>(0) / 2);
        launch(n, one, one);
        printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    }
    float result[64];
    for (float *array : {one, other}) {
        cudaMemcpy(result, array, sizeof(result), cudaMemcpyDefault);
        for (float value : result) printf("%a ", value);
        printf("\n");
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
