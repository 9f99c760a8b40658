// How pointers_h200.txt was made: what the driver tells of each kind of memory, and how long it takes.
//
//     nvcc -O2 -arch=sm_90 -cudart static -o record_pointers record_pointers.cu && ./record_pointers
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <chrono>

__device__ int filed[4096];

static CUresult (*attributes)(unsigned, CUpointer_attribute *, void **, CUdeviceptr);

template <class Function>
static void find(const char *name, Function *function) {
    void *found = nullptr;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault);
    *function = reinterpret_cast<Function>(found);
}

// The three that cutune_allocation.h asks for.
static int ask(CUdeviceptr address, unsigned long long *told) {
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    void *values[] = {&told[0], &told[1], &told[2]};
    return attributes(3, wanted, values, address);
}

static void show(const char *name, void *pointer) {
    const CUdeviceptr address = reinterpret_cast<CUdeviceptr>(pointer);
    unsigned long long told[3] = {0, 0, 0};
    const int status = ask(address + 64, told);
    const int count = 200000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) ask(address + (i & 63) * 4, told);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    printf("%-34s status %d id %6llu managed %llu legacy %llu   %.0f ns\n", name, status, told[0],
           told[1], told[2], time.count() / count);
}

static void show_mapped_twice() {
    CUmemAllocationProp how = {};
    how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    how.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {};
    access.location = how.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*allow)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    find("cuMemCreate", &create);
    find("cuMemAddressReserve", &reserve);
    find("cuMemMap", &map);
    find("cuMemSetAccess", &allow);
    const size_t bytes = 2 << 20;
    CUmemGenericAllocationHandle memory;
    if (create(&memory, bytes, &how, 0) != CUDA_SUCCESS) return;
    for (const char *name : {"virtual memory", "the same memory, mapped again"}) {
        CUdeviceptr address = 0;
        reserve(&address, bytes, 0, 0, 0);
        map(address, bytes, 0, memory, 0);
        allow(address, bytes, &access, 1);
        show(name, reinterpret_cast<void *>(address));
    }
}

// What is told of the memory of device 1 while device 0 is in use.
static void show_other_device() {
    CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr);
    void *other = nullptr, *in_pool = nullptr, *variable = nullptr;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) return;
    find("cuMemGetAddressRange", &range);
    cudaSetDevice(1);
    cudaMalloc(&other, 1 << 20);
    cudaMallocAsync(&in_pool, 1 << 20, 0);
    cudaGetSymbolAddress(&variable, filed);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    for (const char *name : {"device 1, no access", "device 1, with access"}) {
        show(name, other);
        printf("%-34s status %d\n", "  its range", range(&base, &bytes, (CUdeviceptr)other));
        cudaDeviceEnablePeerAccess(1, 0);
    }
    show("device 1, of a pool", in_pool);
    show("device 1, a __device__ array", variable);
}

int main() {
    void *one = nullptr, *other = nullptr;
    cudaDeviceProp device;
    int driver = 0;
    cudaGetDeviceProperties(&device, 0);
    cudaDriverGetVersion(&driver);
    printf("%s, driver for CUDA %d\n", device.name, driver);
    cudaFree(nullptr);
    find("cuPointerGetAttributes", &attributes);
    cudaMalloc(&one, 1 << 20);
    show("cudaMalloc, 1 MiB", one);
    cudaMalloc(&one, 1000);
    cudaMalloc(&other, 1000);
    show("cudaMalloc, 1000 bytes", one);
    show("the next 1000 bytes", other);
    cudaFree(one);
    cudaMalloc(&other, 1000);
    show(other == one ? "freed, and the same address again" : "freed, and another address", other);
    for (int i = 0; i < 500; ++i) cudaMalloc(&one, 1 << 16);
    show("one of 500", one);
    size_t pitch = 0;
    cudaMallocPitch(&one, &pitch, 1000, 100);
    show("cudaMallocPitch", one);
    cudaMallocManaged(&one, 1 << 20);
    show("cudaMallocManaged", one);
    cudaHostAlloc(&one, 1 << 20, cudaHostAllocMapped);
    show("cudaHostAlloc", one);
    cudaMallocAsync(&one, 1 << 20, 0);
    cudaDeviceSynchronize();
    show("cudaMallocAsync", one);
    cudaGetSymbolAddress(&one, filed);
    show("a __device__ array", one);
    show("malloc", malloc(1 << 20));
    show_mapped_twice();
    show_other_device();
    return 0;
}
