// CUDA arrays and the copies to and from them.
#include "runtime_arrays.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "runtime.h"
#include "runtime_streams.h"

namespace cutune {

namespace {

using Arrays = std::unordered_map<const void*, std::unique_ptr<Array>>;

Arrays& arrays() {
    static Arrays* const all = new Arrays;
    return *all;
}

cudaError_t make_array(cudaArray_t* result, const cudaChannelFormatDesc* format, cudaExtent extent,
                       unsigned flags) {
    return call([&] {
        if (!result || !format || extent.width == 0) return cudaErrorInvalidValue;
        if (flags & cudaArrayCubemap) {
            say_once("cubemap arrays are not supported by the emulated device");
            return cudaErrorNotSupported;
        }
        auto array = std::make_unique<Array>(Array{Texture(), *format, extent, flags});
        Texture& layout = array->layout;
        if (!describe_format(*format, &layout)) return cudaErrorInvalidChannelDescriptor;
        layout.width = static_cast<uint32_t>(extent.width);
        layout.height = static_cast<uint32_t>(std::max<size_t>(extent.height, 1));
        layout.depth = static_cast<uint32_t>(std::max<size_t>(extent.depth, 1));
        layout.pitch = extent.width * layout.texel_bytes();
        layout.slice_pitch = layout.pitch * layout.height;
        layout.base = runtime().arena.allocate(layout.bytes(), MemoryKind::device, 0,
                                               current_device());
        if (layout.base == 0) return cudaErrorMemoryAllocation;
        *result = reinterpret_cast<cudaArray_t>(array.get());
        arrays().emplace(array.get(), std::move(array));
        return cudaSuccess;
    });
}

// The place of byte `x` in row `y`.
Place byte_in(const Array& array, size_t x, size_t y) {
    const Texture& layout = array.layout;
    char* const start = reinterpret_cast<char*>(layout.base);
    return {start + y * layout.pitch + x, layout.pitch, layout.slice_pitch};
}

template <class Body>
cudaError_t with_array(cudaArray_const_t handle, cudaStream_t stream, Body body) {
    return submit(stream, [=] {
        const Array* const array = find_array(handle);
        return array ? body(*array) : cudaErrorInvalidResourceHandle;
    });
}

// Bytes that may run over the ends of rows, which lie one behind the other.
Rows line(size_t bytes) { return {bytes, 1, 1}; }

bool fits(const Array& array, size_t x, size_t y, size_t width, size_t height) {
    return x + width <= array.layout.pitch && y + height <= array.layout.height;
}

}  // namespace

bool describe_format(const cudaChannelFormatDesc& format, Texture* texture) {
    const int sizes[] = {format.x, format.y, format.z, format.w};
    uint32_t channels = 0;
    while (channels < 4 && sizes[channels] > 0) channels++;
    if (channels == 0 || channels == 3 || (sizes[0] != 8 && sizes[0] != 16 && sizes[0] != 32))
        return false;
    for (uint32_t k = 0; k < 4; k++)
        if (sizes[k] != (k < channels ? sizes[0] : 0)) return false;
    if (format.f != cudaChannelFormatKindSigned && format.f != cudaChannelFormatKindUnsigned &&
        format.f != cudaChannelFormatKindFloat)
        return false;
    texture->channels = channels;
    texture->channel_bytes = static_cast<uint32_t>(sizes[0]) / 8;
    texture->channel = format.f == cudaChannelFormatKindSigned     ? Channel::signed_integer
                       : format.f == cudaChannelFormatKindUnsigned ? Channel::unsigned_integer
                                                                   : Channel::floating;
    return true;
}

const Array* find_array(cudaArray_const_t handle) {
    const auto found = arrays().find(handle);
    return found == arrays().end() ? nullptr : found->second.get();
}

Place place_in(const Array& array, const cudaPos& at) {
    Place found = byte_in(array, at.x * array.layout.texel_bytes(), at.y);
    found.start += at.z * array.layout.slice_pitch;
    return found;
}

void forget_arrays() { arrays().clear(); }

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags) {
    return make_array(array, format, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned flags) {
    return make_array(array, format, extent, flags);
}

cudaError_t cudaFreeArray(cudaArray_t handle) {
    return call([&] {
        if (!handle) return cudaSuccess;
        const Array* const array = find_array(handle);
        if (!array) return cudaErrorInvalidResourceHandle;
        runtime().arena.free(array->layout.base);
        arrays().erase(handle);
        return cudaSuccess;
    });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                             cudaArray_t handle) {
    return call([&] {
        const Array* const array = find_array(handle);
        if (!array) return cudaErrorInvalidResourceHandle;
        if (format) *format = array->format;
        if (extent) *extent = array->extent;
        if (flags) *flags = array->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t handle) {
    return cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray_t>(handle));
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
    return with_array(to, stream, [=](const Array& array) {
        if (!fits(array, x, y, width, height)) return cudaErrorInvalidValue;
        return copy(byte_in(array, x, y), place(from, pitch), {width, height, 1}, kind);
    });
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
    return with_array(from, stream, [=](const Array& array) {
        if (!fits(array, x, y, width, height)) return cudaErrorInvalidValue;
        return copy(place(to, pitch), byte_in(array, x, y), {width, height, 1}, kind);
    });
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, nullptr);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                   size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return with_array(to, stream, [=](const Array& array) {
        return copy(byte_in(array, x, y), place(from), line(bytes), kind);
    });
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
    return cudaMemcpyToArrayAsync(to, x, y, from, bytes, kind, nullptr);
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y,
                                     size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return with_array(from, stream, [=](const Array& array) {
        return copy(place(to), byte_in(array, x, y), line(bytes), kind);
    });
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
    return cudaMemcpyFromArrayAsync(to, from, x, y, bytes, kind, nullptr);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t x, size_t y, size_t width,
                                     size_t height, cudaMemcpyKind kind) {
    return with_array(from, nullptr, [=](const Array& source) {
        const Array* const target = find_array(to);
        if (!target) return cudaErrorInvalidResourceHandle;
        if (!fits(source, x, y, width, height) || !fits(*target, to_x, to_y, width, height))
            return cudaErrorInvalidValue;
        return copy(byte_in(*target, to_x, to_y), byte_in(source, x, y), {width, height, 1}, kind);
    });
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                   size_t x, size_t y, size_t bytes, cudaMemcpyKind kind) {
    return with_array(from, nullptr, [=](const Array& source) {
        const Array* const target = find_array(to);
        if (!target) return cudaErrorInvalidResourceHandle;
        return copy(byte_in(*target, to_x, to_y), byte_in(source, x, y), line(bytes), kind);
    });
}

}  // extern "C"
