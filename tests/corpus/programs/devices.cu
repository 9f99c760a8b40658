// Several devices: which call is about which device, and what one may do with another's memory.
#include <cstring>
#include <thread>

#include "check.h"

__device__ int own[32];
__managed__ int shared_by_all[32];

__global__ void fill_own(int value) { own[threadIdx.x] = value; }
__global__ void fill_shared(int value) { shared_by_all[threadIdx.x] += value; }
__global__ void add(int *to, const int *from) { to[threadIdx.x] += from[threadIdx.x]; }

typedef int (*asking_range)(unsigned long long *, size_t *, unsigned long long);
typedef int (*asking)(void *, int, unsigned long long);

template <class Function>
static Function driver(const char *name) {
    void *found = nullptr;
    SUCCEED(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, nullptr));
    REQUIRE(found != nullptr);
    return reinterpret_cast<Function>(found);
}

static int device_of(const void *pointer) {
    cudaPointerAttributes attributes;
    SUCCEED(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.device;
}

static int *on(int device) {
    int *found = nullptr, host[32];
    for (int i = 0; i < 32; ++i) host[i] = 100 * device + i;
    SUCCEED(cudaSetDevice(device));
    SUCCEED(cudaMalloc(&found, sizeof host));
    SUCCEED(cudaMemcpy(found, host, sizeof host, cudaMemcpyDefault));
    return found;
}

static void expect(const int *pointer, int first, int step) {
    int host[32];
    SUCCEED(cudaMemcpy(host, pointer, sizeof host, cudaMemcpyDefault));
    for (int i = 0; i < 32; ++i) REQUIRE(host[i] == first + step * i);
}

static void devices() {
    int count = 0, now = -1, bus = -1, other = -1;
    SUCCEED(cudaGetDeviceCount(&count));
    REQUIRE(count == 3);
    SUCCEED(cudaGetDevice(&now));
    REQUIRE(now == 0);
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(3));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    cudaDeviceProp p;
    EXPECT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, 3));
    SUCCEED(cudaGetDeviceProperties(&p, 2));
    SUCCEED(cudaDeviceGetAttribute(&bus, cudaDevAttrPciBusId, 2));
    REQUIRE(bus == p.pciBusID);
    char text[16];
    SUCCEED(cudaDeviceGetPCIBusId(text, sizeof text, 2));
    SUCCEED(cudaDeviceGetByPCIBusId(&other, text));
    REQUIRE(other == 2);
    // Each thread of the host has a device of its own, which is 0 first.
    SUCCEED(cudaSetDevice(2));
    std::thread([] {
        int mine = -1;
        SUCCEED(cudaGetDevice(&mine));
        REQUIRE(mine == 0);
        SUCCEED(cudaSetDevice(1));
    }).join();
    SUCCEED(cudaGetDevice(&now));
    REQUIRE(now == 2);
    (void)cudaGetLastError();
}

static void variables() {
    int *address[2];
    for (int d = 0; d < 2; ++d) {
        SUCCEED(cudaSetDevice(d));
        fill_own<<<1, 32>>>(d + 7);
        fill_shared<<<1, 32>>>(1);
        SUCCEED(cudaDeviceSynchronize());
        SUCCEED(cudaGetSymbolAddress(reinterpret_cast<void **>(&address[d]), own));
        REQUIRE(device_of(address[d]) == d);
    }
    REQUIRE(address[0] != address[1]);
    for (int d = 0; d < 2; ++d) expect(address[d], d + 7, 0);
    for (int value : shared_by_all) REQUIRE(value == 2);
}

static void streams() {
    cudaStream_t of_one;
    cudaEvent_t event_of_one, event_of_zero;
    float ms = 0;
    SUCCEED(cudaSetDevice(1));
    SUCCEED(cudaStreamCreate(&of_one));
    SUCCEED(cudaEventCreate(&event_of_one));
    int *data = on(0);
    SUCCEED(cudaEventCreate(&event_of_zero));
    add<<<1, 32, 0, of_one>>>(data, data);
    EXPECT(cudaErrorInvalidResourceHandle, cudaGetLastError());
    expect(data, 0, 1);
    SUCCEED(cudaMemcpyAsync(data, data, 64, cudaMemcpyDefault, of_one));
    SUCCEED(cudaStreamSynchronize(of_one));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(event_of_zero, of_one));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(event_of_one, 0));
    SUCCEED(cudaEventRecord(event_of_one, of_one));
    SUCCEED(cudaEventRecord(event_of_zero, 0));
    SUCCEED(cudaEventQuery(event_of_one));
    SUCCEED(cudaStreamWaitEvent(0, event_of_one, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event_of_zero, event_of_one));
    (void)cudaGetLastError();
    SUCCEED(cudaStreamDestroy(of_one));
}

static void graphs() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    int *data = on(1);
    SUCCEED(cudaStreamCreate(&stream));
    SUCCEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 32, 0, stream>>>(data, data);
    SUCCEED(cudaStreamEndCapture(stream, &graph));
    SUCCEED(cudaGraphInstantiate(&executable, graph, 0));
    // The graph belongs to the device of its nodes.
    SUCCEED(cudaSetDevice(0));
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaDeviceSynchronize());
    expect(data, 200, 2);
}

static void peers() {
    int *zero = on(0), *one = on(1), can = -1;
    REQUIRE(device_of(zero) == 0 && device_of(one) == 1);
    SUCCEED(cudaDeviceCanAccessPeer(&can, 0, 1));
    REQUIRE(can == 1);
    SUCCEED(cudaDeviceCanAccessPeer(&can, 1, 1));
    REQUIRE(can == 0);
    EXPECT(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 3));
    SUCCEED(cudaSetDevice(0));
    EXPECT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 1));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(3, 0));
    SUCCEED(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    (void)cudaGetLastError();
    add<<<1, 32>>>(zero, one);
    SUCCEED(cudaDeviceSynchronize());
    expect(zero, 100, 2);
    SUCCEED(cudaMemcpyPeer(one, 1, zero, 0, 128));
    expect(one, 100, 2);
    EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeer(one, 3, zero, 0, 128));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyPeer(one, 0, zero, 0, 128));
    (void)cudaGetLastError();
    SUCCEED(cudaFree(one));  // of any device
}

static void asked_of_the_driver() {
    int *zero = on(0), *one = on(1), ordinal = -1;
    unsigned long long base = 0, id[2] = {0, 0};
    size_t bytes = 0;
    const asking_range range = driver<asking_range>("cuMemGetAddressRange");
    const asking attribute = driver<asking>("cuPointerGetAttribute");
    const auto address = [](int *pointer) { return reinterpret_cast<unsigned long long>(pointer); };
    // It looks among the allocations of the current device only.
    REQUIRE(range(&base, &bytes, address(one + 1)) == 0 && base == address(one) && bytes == 128);
    REQUIRE(range(&base, &bytes, address(zero)) == 500);
    SUCCEED(cudaSetDevice(0));
    REQUIRE(range(&base, &bytes, address(one)) == 500);
    // Attributes are told of any.
    REQUIRE(attribute(&ordinal, 9, address(one)) == 0 && ordinal == 1);
    REQUIRE(attribute(&id[0], 7, address(zero)) == 0 && attribute(&id[1], 7, address(one)) == 0);
    REQUIRE(id[0] != id[1] && id[0] != 0 && id[1] != 0);
    REQUIRE(attribute(&ordinal, 9, address(&ordinal)) == 1);
}

static void pools() {
    cudaMemPool_t pool;
    int *from_pool = nullptr, *zero = on(0);
    cudaMemAccessDesc access = {};
    SUCCEED(cudaSetDevice(1));
    SUCCEED(cudaMallocAsync(&from_pool, 128, 0));
    SUCCEED(cudaMemset(from_pool, 0, 128));
    REQUIRE(device_of(from_pool) == 1);
    SUCCEED(cudaDeviceGetDefaultMemPool(&pool, 1));
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = 0;
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtReadWrite;
    SUCCEED(cudaMemPoolGetAccess(&flags, pool, &access.location));
    REQUIRE(flags == cudaMemAccessFlagsProtNone);
    access.flags = cudaMemAccessFlagsProtReadWrite;
    SUCCEED(cudaMemPoolSetAccess(pool, &access, 1));
    SUCCEED(cudaSetDevice(0));
    add<<<1, 32>>>(zero, from_pool);
    SUCCEED(cudaDeviceSynchronize());
    expect(zero, 0, 1);
}

// Without access a kernel fails, and its device is lost; others are not.
static void refused() {
    int *two = on(2), *one = on(1);
    add<<<1, 32>>>(one, two);
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    (void)cudaGetLastError();
    EXPECT(cudaErrorIllegalAddress, cudaFree(one));
    SUCCEED(cudaSetDevice(2));
    add<<<1, 32>>>(two, two);
    SUCCEED(cudaDeviceSynchronize());
    expect(two, 400, 2);
    SUCCEED(cudaSetDevice(0));
    SUCCEED(cudaDeviceSynchronize());
}

// A reset is of one device: others keep their memory, and variables of all.
static void reset() {
    int *two = on(2);
    SUCCEED(cudaSetDevice(2));
    fill_shared<<<1, 32>>>(1);
    SUCCEED(cudaSetDevice(0));
    SUCCEED(cudaDeviceReset());
    SUCCEED(cudaSetDevice(2));
    fill_shared<<<1, 32>>>(1);
    SUCCEED(cudaDeviceSynchronize());
    expect(two, 200, 1);
    SUCCEED(cudaSetDevice(0));
    fill_shared<<<1, 32>>>(1);
    SUCCEED(cudaDeviceSynchronize());
    for (int value : shared_by_all) REQUIRE(value == 5);
    EXPECT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
}

int main() {
    devices();
    variables();
    streams();
    graphs();
    peers();
    asked_of_the_driver();
    pools();
    refused();
    reset();
    return pass();
}
