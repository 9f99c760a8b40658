// Copies and fills as the driver's interface asks for them.
#include "driver.h"
#include "runtime_arrays.h"
#include "runtime_copy.h"
#include "runtime_streams.h"

using namespace cutune;

namespace {

// One end of a copy of rows. The structures for two and for three dimensions name it alike.
struct End {
    CUmemorytype kind;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z;  // x in bytes
    size_t pitch, height;
};

bool is_of_device(const End& end) {
    return end.kind == CU_MEMORYTYPE_DEVICE || end.kind == CU_MEMORYTYPE_ARRAY;
}

cudaMemcpyKind kind_of(const End& to, const End& from) {
    if (to.kind == CU_MEMORYTYPE_UNIFIED || from.kind == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    if (is_of_device(to)) return is_of_device(from) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return is_of_device(from) ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

// False for an array that does not exist, or is narrower than the rows. A pitch of 0 is the width.
bool find_place(const End& end, const Rows& rows, Place* found) {
    if (end.kind != CU_MEMORYTYPE_ARRAY) {
        const bool is_host = end.kind == CU_MEMORYTYPE_HOST;
        const size_t pitch = end.pitch ? end.pitch : rows.width + end.x;
        const size_t slice = pitch * (end.height ? end.height : rows.height + end.y);
        *found = place(is_host ? end.host : pointer(end.device), pitch);
        found->slice_pitch = slice;
        found->start += end.z * slice + end.y * pitch + end.x;
        return true;
    }
    const Array* const array = find_array(reinterpret_cast<cudaArray_t>(end.array));
    if (!array) return false;
    const size_t texel = array->layout.texel_bytes();
    const size_t lines = array->extent.height ? array->extent.height : 1;
    const size_t slices = array->extent.depth ? array->extent.depth : 1;
    if (end.x % texel != 0 || end.x + rows.width > array->extent.width * texel ||
        end.y + rows.height > lines || end.z + rows.depth > slices)
        return false;
    *found = place_in(*array, {end.x / texel, end.y, end.z});
    return true;
}

CUresult copy_rows(const End& to, const End& from, const Rows& rows, CUstream stream) {
    return in_context([&] {
        return submit(stream, [=] {
            Place target, source;
            if (!find_place(to, rows, &target) || !find_place(from, rows, &source))
                return cudaErrorInvalidValue;
            return copy(target, source, rows, kind_of(to, from));
        });
    });
}

CUresult copy_rows(const CUDA_MEMCPY2D* r, CUstream stream) {
    if (!r) return CUDA_ERROR_INVALID_VALUE;
    const End to{r->dstMemoryType, r->dstHost, r->dstDevice, r->dstArray, r->dstXInBytes,
                 r->dstY,          0,          r->dstPitch,  0};
    const End from{r->srcMemoryType, r->srcHost, r->srcDevice, r->srcArray, r->srcXInBytes,
                   r->srcY,          0,          r->srcPitch,  0};
    return copy_rows(to, from, {r->WidthInBytes, r->Height, 1}, stream);
}

CUresult copy_rows(const CUDA_MEMCPY3D* r, CUstream stream) {
    if (!r) return CUDA_ERROR_INVALID_VALUE;
    const End to{r->dstMemoryType, r->dstHost, r->dstDevice, r->dstArray, r->dstXInBytes,
                 r->dstY,          r->dstZ,    r->dstPitch,  r->dstHeight};
    const End from{r->srcMemoryType, r->srcHost, r->srcDevice, r->srcArray, r->srcXInBytes,
                   r->srcY,          r->srcZ,    r->srcPitch,  r->srcHeight};
    return copy_rows(to, from, {r->WidthInBytes, r->Height, r->Depth}, stream);
}

CUresult copy_line(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                   CUstream stream = nullptr) {
    return in_context([&] { return cudaMemcpyAsync(to, from, bytes, kind, stream); });
}

End part_of(CUarray array, size_t offset) {
    return {CU_MEMORYTYPE_ARRAY, nullptr, 0, array, offset, 0, 0, 0, 0};
}

End line_at(CUmemorytype kind, const void* start) {
    return {kind, start, address(start), nullptr, 0, 0, 0, 0, 0};
}

CUresult fill_rows(CUdeviceptr to, size_t pitch, unsigned value, size_t element, size_t width,
                   size_t height, CUstream stream = nullptr) {
    if (to % element != 0 || pitch % element != 0) return CUDA_ERROR_INVALID_VALUE;
    return in_context([&] {
        return submit(stream, [=] {
            return fill(place(pointer(to), pitch), value, element, {width * element, height, 1});
        });
    });
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_line(pointer(to), pointer(from), bytes, cudaMemcpyDefault);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_line(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return copy_line(pointer(to), from, bytes, cudaMemcpyHostToDevice);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy_line(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return copy_line(to, pointer(from), bytes, cudaMemcpyDeviceToHost);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_line(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_line(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_line(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream);
}

// Devices share the memory of the host, so that a copy between two is a copy.
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
    return copy_line(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                           CUstream stream) {
    return copy_line(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream);
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
    return copy_rows(part_of(to, offset), line_at(CU_MEMORYTYPE_HOST, from), {bytes, 1, 1}, nullptr);
}

CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
    return copy_rows(line_at(CU_MEMORYTYPE_HOST, to), part_of(from, offset), {bytes, 1, 1}, nullptr);
}

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return copy_rows(part_of(to, offset), line_at(CU_MEMORYTYPE_DEVICE, pointer(from)),
                     {bytes, 1, 1}, nullptr);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return copy_rows(line_at(CU_MEMORYTYPE_DEVICE, pointer(to)), part_of(from, offset),
                     {bytes, 1, 1}, nullptr);
}

CUresult cuMemcpyAtoA_v2(CUarray to, size_t offset, CUarray from, size_t begin, size_t bytes) {
    return copy_rows(part_of(to, offset), part_of(from, begin), {bytes, 1, 1}, nullptr);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* request) { return copy_rows(request, nullptr); }

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* request) {
    return copy_rows(request, nullptr);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* request, CUstream stream) {
    return copy_rows(request, stream);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* request) { return copy_rows(request, nullptr); }

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* request, CUstream stream) {
    return copy_rows(request, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return fill_rows(to, 0, value, 1, count, 1);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    return fill_rows(to, 0, value, 2, count, 1);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
    return fill_rows(to, 0, value, 4, count, 1);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return fill_rows(to, 0, value, 1, count, 1, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return fill_rows(to, 0, value, 2, count, 1, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    return fill_rows(to, 0, value, 4, count, 1, stream);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
    return fill_rows(to, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
    return fill_rows(to, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                          size_t height) {
    return fill_rows(to, pitch, value, 4, width, height);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
    return fill_rows(to, pitch, value, 1, width, height, stream);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
    return fill_rows(to, pitch, value, 2, width, height, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream) {
    return fill_rows(to, pitch, value, 4, width, height, stream);
}

}  // extern "C"
