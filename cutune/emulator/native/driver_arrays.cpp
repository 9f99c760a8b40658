// CUDA arrays by the driver's structures.
#include "driver.h"
#include "runtime_arrays.h"

using namespace cutune;

namespace {

struct Format {
    CUarray_format format;
    int bits;
    cudaChannelFormatKind kind;
};

constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};

// False for a format that is not emulated.
bool channels_of(CUarray_format format, unsigned channels, cudaChannelFormatDesc* found) {
    for (const Format& each : kFormats) {
        if (each.format != format) continue;
        const auto bits = [&](unsigned channel) { return channel < channels ? each.bits : 0; };
        *found = {bits(0), bits(1), bits(2), bits(3), each.kind};
        return true;
    }
    return false;
}

CUarray_format format_of(const cudaChannelFormatDesc& channels) {
    for (const Format& each : kFormats)
        if (each.bits == channels.x && each.kind == channels.f) return each.format;
    return CU_AD_FORMAT_FLOAT;
}

unsigned count_of(const cudaChannelFormatDesc& channels) {
    return 1u + (channels.y > 0) + (channels.z > 0) + (channels.w > 0);
}

}  // namespace

extern "C" {

CUresult cuArray3DCreate_v2(CUarray* result, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
    if (!result || !wanted) return CUDA_ERROR_INVALID_VALUE;
    cudaChannelFormatDesc channels;
    if (!channels_of(wanted->Format, wanted->NumChannels, &channels))
        return not_emulated("cuArray3DCreate with this format");
    return in_context([&] {
        cudaArray_t array = nullptr;
        const cudaExtent extent{wanted->Width, wanted->Height, wanted->Depth};
        const cudaError_t error = cudaMalloc3DArray(&array, &channels, extent, wanted->Flags);
        *result = reinterpret_cast<CUarray>(array);
        return error;
    });
}

CUresult cuArrayCreate_v2(CUarray* result, const CUDA_ARRAY_DESCRIPTOR* wanted) {
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR whole{wanted->Width,  wanted->Height,      0,
                                        wanted->Format, wanted->NumChannels, 0};
    return cuArray3DCreate_v2(result, &whole);
}

CUresult cuArrayDestroy(CUarray array) {
    return in_context([&] { return cudaFreeArray(reinterpret_cast<cudaArray_t>(array)); });
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* result, CUarray array) {
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    return in_context([&] {
        cudaChannelFormatDesc channels;
        cudaExtent extent;
        unsigned flags = 0;
        const cudaError_t error =
            cudaArrayGetInfo(&channels, &extent, &flags, reinterpret_cast<cudaArray_t>(array));
        if (error == cudaSuccess)
            *result = {extent.width,        extent.height,      extent.depth,
                       format_of(channels), count_of(channels), flags};
        return error;
    });
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* result, CUarray array) {
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR whole;
    const CUresult problem = cuArray3DGetDescriptor_v2(&whole, array);
    if (problem == CUDA_SUCCESS)
        *result = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
    return problem;
}

}  // extern "C"
