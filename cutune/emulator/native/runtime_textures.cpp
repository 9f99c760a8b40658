// Texture and surface objects.
#include <memory>
#include <unordered_map>

#include "runtime.h"
#include "runtime_arrays.h"

namespace cutune {

namespace {

struct Object {
    cudaResourceDesc resource;
    cudaTextureDesc reading;
};

using Objects = std::unordered_map<uint64_t, std::unique_ptr<Object>>;

Objects& objects() {
    static Objects* const all = new Objects;
    return *all;
}

cudaError_t refuse(const char* what) {
    say_once(std::string(what) + " is not supported by the emulated device");
    return cudaErrorNotSupported;
}

bool in_memory(uint64_t base, uint64_t bytes) {
    const Block* const block = runtime().arena.block(base);
    return block && block->live && bytes <= block->size - (base - block->base);
}

// Where the texels lie and how they look.
cudaError_t describe_resource(const cudaResourceDesc& resource, Texture* texture) {
    if (resource.resType == cudaResourceTypeArray) {
        const Array* const array = find_array(resource.res.array.array);
        if (!array) return cudaErrorInvalidResourceHandle;
        *texture = array->layout;
        return cudaSuccess;
    }
    if (resource.resType == cudaResourceTypeLinear) {
        const auto& linear = resource.res.linear;
        if (!describe_format(linear.desc, texture)) return cudaErrorInvalidChannelDescriptor;
        texture->base = reinterpret_cast<uint64_t>(linear.devPtr);
        texture->width = static_cast<uint32_t>(linear.sizeInBytes / texture->texel_bytes());
        texture->linear_memory = true;
    } else if (resource.resType == cudaResourceTypePitch2D) {
        const auto& pitched = resource.res.pitch2D;
        if (!describe_format(pitched.desc, texture)) return cudaErrorInvalidChannelDescriptor;
        texture->base = reinterpret_cast<uint64_t>(pitched.devPtr);
        texture->width = static_cast<uint32_t>(pitched.width);
        texture->height = static_cast<uint32_t>(pitched.height);
        texture->pitch = pitched.pitchInBytes;
    } else {
        return refuse("a mipmapped texture");
    }
    if (texture->width == 0 || texture->height == 0) return cudaErrorInvalidValue;
    return in_memory(texture->base, texture->bytes()) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t describe_reading(const cudaTextureDesc& reading, Texture* texture) {
    if (reading.sRGB) return refuse("sRGB conversion");
    texture->normalized_coordinates = reading.normalizedCoords;
    texture->normalized_values = reading.readMode == cudaReadModeNormalizedFloat;
    texture->linear_filter = reading.filterMode == cudaFilterModeLinear;
    for (int k = 0; k < 3; k++)
        texture->wrapping[k] = static_cast<Wrapping>(reading.addressMode[k]);
    for (int k = 0; k < 4; k++) texture->border[k] = reading.borderColor[k];
    const bool integers = texture->channel != Channel::floating;
    if (texture->normalized_values && integers && texture->channel_bytes > 2)
        return cudaErrorInvalidNormSetting;
    if (!integers) texture->normalized_values = false;
    if (texture->linear_filter && integers && !texture->normalized_values)
        return cudaErrorInvalidFilterSetting;
    if (texture->linear_memory) texture->linear_filter = false;
    return cudaSuccess;
}

cudaError_t make(uint64_t* handle, const cudaResourceDesc* resource,
                 const cudaTextureDesc* reading) {
    return call([&] {
        if (!handle || !resource) return cudaErrorInvalidValue;
        auto object = std::make_unique<Object>();
        Texture texture;
        object->resource = *resource;
        cudaError_t error = describe_resource(*resource, &texture);
        if (error == cudaSuccess && reading) {
            object->reading = *reading;
            error = describe_reading(*reading, &texture);
        }
        if (error != cudaSuccess) return error;
        static uint64_t made = 0;
        *handle = ++made;
        runtime().arena.set_texture(made, texture);
        objects().emplace(*handle, std::move(object));
        return cudaSuccess;
    });
}

cudaError_t destroy(uint64_t handle) {
    return call([&] {
        runtime().arena.drop_texture(handle);
        return handle == 0 || objects().erase(handle) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

// `make` for the caller: his handle is written where the object could be made.
cudaError_t make_for(unsigned long long* object, const cudaResourceDesc* resource,
                     const cudaTextureDesc* reading) {
    uint64_t handle = 0;
    const cudaError_t error = make(&handle, resource, reading);
    if (error == cudaSuccess && object) *object = handle;
    return error;
}

template <class Body>
cudaError_t with_object(uint64_t handle, const void* result, Body body) {
    return call([&] {
        const auto found = objects().find(handle);
        if (!result || found == objects().end()) return cudaErrorInvalidValue;
        body(*found->second);
        return cudaSuccess;
    });
}

}  // namespace

void forget_textures() {
    for (const auto& entry : objects()) runtime().arena.drop_texture(entry.first);
    objects().clear();
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* reading,
                                    const cudaResourceViewDesc* view) {
    if (!reading) return remember(cudaErrorInvalidValue);
    if (view) return remember(refuse("a resource view"));
    return make_for(object, resource, reading);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) { return destroy(object); }

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* result, cudaTextureObject_t object) {
    return with_object(object, result, [&](const Object& found) { *result = found.resource; });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* result, cudaTextureObject_t object) {
    return with_object(object, result, [&](const Object& found) { *result = found.reading; });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object,
                                    const cudaResourceDesc* resource) {
    if (!resource || resource->resType != cudaResourceTypeArray)
        return remember(cudaErrorInvalidValue);
    return make_for(object, resource, nullptr);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return destroy(object); }

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* result, cudaSurfaceObject_t object) {
    return with_object(object, result, [&](const Object& found) { *result = found.resource; });
}

}  // extern "C"
