// Texture and surface objects on linear memory, pitched memory and CUDA arrays.
#include <cmath>
#include <vector>

#include "check.h"

constexpr int W = 8, H = 4;

__global__ void fetch(cudaTextureObject_t t, int n, int *out) {
    for (int i = -1; i <= n; ++i) out[i + 1] = tex1Dfetch<int>(t, i);
}

__global__ void sample(cudaTextureObject_t t, int n, const float2 *at, float *out) {
    const int i = threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}

__global__ void fractions(cudaTextureObject_t t, float4 *out) { *out = tex2D<float4>(t, 1.5f, 0.5f); }

__global__ void volume(cudaTextureObject_t t, float *out) {
    out[0] = tex3D<float>(t, 1.5f, 0.5f, 2.5f);
    out[1] = tex3D<float>(t, 2.0f, 1.0f, 1.0f);
}

__global__ void layers(cudaTextureObject_t t, float *out) { *out = tex2DLayered<float>(t, 1.5f, 0.5f, 2); }

__global__ void twice(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    float value;
    surf2Dread(&value, from, threadIdx.x * sizeof(float), threadIdx.y);
    surf2Dwrite(2 * value, to, threadIdx.x * sizeof(float), threadIdx.y);
}

static cudaTextureObject_t texture(const cudaResourceDesc &resource, cudaTextureAddressMode mode,
                                   bool filter, bool normalized, bool fractions = false) {
    cudaTextureDesc reading = {};
    reading.addressMode[0] = reading.addressMode[1] = reading.addressMode[2] = mode;
    reading.filterMode = filter ? cudaFilterModeLinear : cudaFilterModePoint;
    reading.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    reading.normalizedCoords = normalized;
    cudaTextureObject_t object;
    SUCCEED(cudaCreateTextureObject(&object, &resource, &reading, nullptr));
    return object;
}

static std::vector<float> sampled(cudaTextureObject_t t, const std::vector<float2> &at) {
    const int n = at.size();
    float2 *places;
    float *out;
    SUCCEED(cudaMalloc(&places, n * sizeof *places));
    SUCCEED(cudaMalloc(&out, n * sizeof *out));
    SUCCEED(cudaMemcpy(places, at.data(), n * sizeof *places, cudaMemcpyHostToDevice));
    sample<<<1, 32>>>(t, n, places, out);
    std::vector<float> result(n);
    SUCCEED(cudaMemcpy(result.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
    SUCCEED(cudaDestroyTextureObject(t));
    SUCCEED(cudaFree(places));
    SUCCEED(cudaFree(out));
    return result;
}

static void linear_memory() {
    int *data, *out, host[5] = {1, 2, 3, 4, 5}, got[7];
    SUCCEED(cudaMalloc(&data, sizeof host));
    SUCCEED(cudaMalloc(&out, sizeof got));
    SUCCEED(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {data, cudaCreateChannelDesc<int>(), sizeof host};
    fetch<<<1, 1>>>(texture(resource, cudaAddressModeClamp, false, false), 5, out);
    SUCCEED(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 7; ++i) REQUIRE(got[i] == (i == 0 || i == 6 ? 0 : i));
}

// Texel (x, y) holds 10 y + x.
static void grid() {
    float host[H][W];
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) host[y][x] = 10 * y + x;
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    SUCCEED(cudaMallocArray(&array, &format, W, H));
    SUCCEED(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], H,
                                cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    auto got = sampled(texture(resource, cudaAddressModeClamp, false, false),
                       {{0.5f, 0.5f}, {2.9f, 1.1f}, {-3, 2.5f}, {100, 100}});
    REQUIRE(got[0] == 0 && got[1] == 12 && got[2] == 20 && got[3] == 37);
    got = sampled(texture(resource, cudaAddressModeClamp, true, false),
                  {{2.5f, 1.5f}, {3, 1.5f}, {2.5f, 2}, {2.75f, 1.75f}, {0, 0}});
    REQUIRE(got[0] == 12 && got[1] == 12.5f && got[2] == 17 && got[3] == 14.75f && got[4] == 0);
    got = sampled(texture(resource, cudaAddressModeBorder, false, false),
                  {{0.5f, 1.5f}, {-0.5f, 1.5f}, {8.5f, 1.5f}});
    REQUIRE(got[0] == 10 && got[1] == 0 && got[2] == 0);
    got = sampled(texture(resource, cudaAddressModeWrap, false, true),
                  {{0.5f, 0.25f}, {1.5f, 0.25f}, {-0.25f, 1.25f}});
    REQUIRE(got[0] == 14 && got[1] == 14 && got[2] == 16);
    got = sampled(texture(resource, cudaAddressModeMirror, false, true),
                  {{1.0625f, 0.125f}, {-0.0625f, 0.125f}, {1.9375f, 0.125f}});
    REQUIRE(got[0] == 7 && got[1] == 0 && got[2] == 0);

    float *pitched;
    size_t pitch;
    SUCCEED(cudaMallocPitch(&pitched, &pitch, sizeof host[0], H));
    SUCCEED(cudaMemcpy2DFromArray(pitched, pitch, array, 0, 0, sizeof host[0], H,
                                  cudaMemcpyDeviceToDevice));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {pitched, format, W, H, pitch};
    got = sampled(texture(resource, cudaAddressModeClamp, true, false), {{7.5f, 3.5f}, {7, 3}});
    REQUIRE(got[0] == 37 && got[1] == 31.5f);

    cudaArray_t target;
    SUCCEED(cudaMallocArray(&target, &format, W, H, cudaArraySurfaceLoadStore));
    cudaSurfaceObject_t from, to;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    SUCCEED(cudaCreateSurfaceObject(&from, &resource));
    resource.res.array.array = target;
    SUCCEED(cudaCreateSurfaceObject(&to, &resource));
    twice<<<1, dim3(W, H)>>>(from, to);
    SUCCEED(cudaMemcpy2DFromArray(host, sizeof host[0], target, 0, 0, sizeof host[0], H,
                                  cudaMemcpyDeviceToHost));
    REQUIRE(host[3][5] == 70);
    SUCCEED(cudaFreeArray(array));
}

static void normalized_values() {
    const uchar4 host[2] = {{0, 0, 0, 0}, {255, 51, 102, 0}};
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    SUCCEED(cudaMallocArray(&array, &format, 2, 1));
    SUCCEED(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host, sizeof host, 1,
                                cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    float4 *out;
    SUCCEED(cudaMallocManaged(&out, sizeof *out));
    fractions<<<1, 1>>>(texture(resource, cudaAddressModeClamp, true, false, true), out);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(out->x == 1 && std::fabs(out->y - 0.2f) < 1e-6f && out->w == 0);
}

static void three_dimensions() {
    float host[3][2][4];
    for (int i = 0; i < 24; ++i) (&host[0][0][0])[i] = i;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    const cudaExtent extent = make_cudaExtent(4, 2, 3);
    float *out;
    SUCCEED(cudaMallocManaged(&out, 2 * sizeof *out));
    for (const unsigned flags : {0u, unsigned(cudaArrayLayered)}) {
        cudaArray_t array;
        SUCCEED(cudaMalloc3DArray(&array, &format, extent, flags));
        cudaMemcpy3DParms request = {};
        request.srcPtr = make_cudaPitchedPtr(host, sizeof host[0][0], 4, 2);
        request.dstArray = array;
        request.extent = extent;
        request.kind = cudaMemcpyHostToDevice;
        SUCCEED(cudaMemcpy3D(&request));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        const cudaTextureObject_t object = texture(resource, cudaAddressModeClamp, true, false);
        if (flags) layers<<<1, 1>>>(object, out);
        else volume<<<1, 1>>>(object, out);
        SUCCEED(cudaDeviceSynchronize());
        REQUIRE(out[0] == 17);
        if (!flags) REQUIRE(out[1] == 0.5f * (1.5f + 5.5f) * 0.5f + 0.5f * (9.5f + 13.5f) * 0.5f);
    }
}

int main() {
    linear_memory();
    grid();
    normalized_values();
    three_dimensions();
    return pass();
}
