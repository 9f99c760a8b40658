// Copies and fills. Both ends are checked: memory that the arena knows must be live and large
// enough, and the end that the direction calls "device" must be memory that the device can reach.
#include "runtime_copy.h"

#include <cstring>

#include "runtime.h"
#include "runtime_check.h"
#include "runtime_arrays.h"
#include "runtime_modules.h"
#include "runtime_streams.h"

namespace cutune {

namespace {

// Does [pointer, pointer + bytes) lie in device memory (`device`), or at least not cross an
// allocation's end? Says what is wrong when it does not.
bool reachable(const char* role, const void* pointer, size_t bytes, bool device_side) {
    const uint64_t address = reinterpret_cast<uint64_t>(pointer);
    const Block* const block = runtime().arena.block(address);
    if (!block) {
        if (device_side) say("copy: %s %p is not device memory", role, pointer);
        return !device_side;
    }
    if (!block->live) {
        say("copy: %s %p lies in memory that was freed", role, pointer);
        return false;
    }
    const uint64_t room = block->size - (address - block->base);
    if (bytes <= room) return true;
    say("copy: %s %p: %zu bytes go %llu past the end of the allocation of %llu bytes", role,
        pointer, bytes, (unsigned long long)(bytes - room), (unsigned long long)block->size);
    return false;
}

bool device_source(cudaMemcpyKind kind) {
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

bool device_target(cudaMemcpyKind kind) {
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}

size_t extent(const Place& place, const Rows& rows) {
    return (rows.depth - 1) * place.slice_pitch + (rows.height - 1) * place.pitch + rows.width;
}

}  // namespace

cudaError_t copy(const Place& to, const Place& from, const Rows& rows, cudaMemcpyKind kind) {
    if (kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return cudaSuccess;
    if (!to.start || !from.start) return cudaErrorInvalidValue;
    if (rows.height > 1 && (rows.width > to.pitch || rows.width > from.pitch))
        return cudaErrorInvalidPitchValue;
    if (!reachable("destination", to.start, extent(to, rows), device_target(kind)) ||
        !reachable("source", from.start, extent(from, rows), device_source(kind)))
        return cudaErrorInvalidValue;
    for (size_t slice = 0; slice < rows.depth; ++slice)
        for (size_t row = 0; row < rows.height; ++row) {
            char* const target = to.start + slice * to.slice_pitch + row * to.pitch;
            const char* const source = from.start + slice * from.slice_pitch + row * from.pitch;
            std::memmove(target, source, rows.width);
            if (written())
                written()->copy(reinterpret_cast<uint64_t>(target),
                                reinterpret_cast<uint64_t>(source), rows.width);
        }
    advance_clock_by_copy(rows.width * rows.height * rows.depth, kind != cudaMemcpyDeviceToDevice);
    return cudaSuccess;
}

namespace {

void fill_row(char* target, unsigned value, size_t element, size_t bytes) {
    if (element == 1) {
        std::memset(target, static_cast<int>(value), bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += element) std::memcpy(target + at, &value, element);
}

}  // namespace

cudaError_t fill(const Place& to, unsigned value, size_t element, const Rows& rows) {
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return cudaSuccess;
    if (!reachable("destination", to.start, extent(to, rows), true)) return cudaErrorInvalidValue;
    for (size_t slice = 0; slice < rows.depth; ++slice)
        for (size_t row = 0; row < rows.height; ++row) {
            char* const target = to.start + slice * to.slice_pitch + row * to.pitch;
            fill_row(target, value, element, rows.width);
            if (written()) written()->write(reinterpret_cast<uint64_t>(target), rows.width);
        }
    advance_clock_by_copy(rows.width * rows.height * rows.depth, false);
    return cudaSuccess;
}

Place place(const void* start, size_t pitch) {
    return {static_cast<char*>(const_cast<void*>(start)), pitch, 0};
}

namespace {

cudaError_t copy_line(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy(place(to), place(from), {bytes, 1, 1}, kind);
}

// A symbol is on the device: copies to it never are of a kind that ends on the host, and so on.
bool ends_on_device(cudaMemcpyKind kind) {
    return device_target(kind) || kind == cudaMemcpyDefault;
}

bool begins_on_device(cudaMemcpyKind kind) {
    return device_source(kind) || kind == cudaMemcpyDefault;
}

// The bytes [offset, offset + bytes) of the variable behind `symbol`.
cudaError_t part_of_symbol(const void* symbol, size_t bytes, size_t offset, void** part) {
    Variable* variable = nullptr;
    const cudaError_t error = find_variable(symbol, &variable);
    if (error != cudaSuccess) return error;
    if (offset > variable->size || bytes > variable->size - offset) return cudaErrorInvalidValue;
    *part = reinterpret_cast<void*>(variable->address() + offset);
    return cudaSuccess;
}

Place place_of(const cudaPitchedPtr& pointer, const cudaPos& at) {
    const size_t slice_pitch = pointer.pitch * pointer.ysize;
    char* const start = static_cast<char*>(pointer.ptr);
    return {start + at.z * slice_pitch + at.y * pointer.pitch + at.x, pointer.pitch, slice_pitch};
}

}  // namespace

// Where an array takes part, extents and positions in it count its elements.
cudaError_t copy_request(const cudaMemcpy3DParms& r) {
    const Array* const target = find_array(r.dstArray);
    const Array* const source = find_array(r.srcArray);
    if ((r.dstArray && !target) || (r.srcArray && !source)) return cudaErrorInvalidResourceHandle;
    const Array* const counted = target ? target : source;
    const size_t element = counted ? counted->layout.texel_bytes() : 1;
    const Place to = target ? place_in(*target, r.dstPos) : place_of(r.dstPtr, r.dstPos);
    const Place from = source ? place_in(*source, r.srcPos) : place_of(r.srcPtr, r.srcPos);
    return copy(to, from, {r.extent.width * element, r.extent.height, r.extent.depth}, r.kind);
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return call([&] { return copy_line(to, from, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return submit(stream, [=] { return copy_line(to, from, bytes, kind); });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return submit(stream, [=] {
        return copy(place(to, to_pitch), place(from, from_pitch), {width, height, 1}, kind);
    });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* request, cudaStream_t stream) {
    if (!request) return remember(cudaErrorInvalidValue);
    const cudaMemcpy3DParms kept = *request;
    return submit(stream, [=] { return copy_request(kept); });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* request) {
    return cudaMemcpy3DAsync(request, nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    return submit(
        stream, [=] { return fill(place(to), static_cast<unsigned>(value), 1, {bytes, 1, 1}); });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    return submit(stream, [=] {
        return fill(place(to, pitch), static_cast<unsigned>(value), 1, {width, height, 1});
    });
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent size, cudaStream_t stream) {
    return submit(stream, [=] {
        return fill(place_of(to, cudaPos{}), static_cast<unsigned>(value), 1,
                    {size.width, size.height, size.depth});
    });
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent size) {
    return cudaMemset3DAsync(to, value, size, nullptr);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    return submit(stream, [=] {
        if (!ends_on_device(kind)) return cudaErrorInvalidMemcpyDirection;
        void* part = nullptr;
        const cudaError_t error = part_of_symbol(symbol, bytes, offset, &part);
        return error == cudaSuccess ? copy_line(part, from, bytes, kind) : error;
    });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    return submit(stream, [=] {
        if (!begins_on_device(kind)) return cudaErrorInvalidMemcpyDirection;
        void* part = nullptr;
        const cudaError_t error = part_of_symbol(symbol, bytes, offset, &part);
        return error == cudaSuccess ? copy_line(to, part, bytes, kind) : error;
    });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

}  // extern "C"
