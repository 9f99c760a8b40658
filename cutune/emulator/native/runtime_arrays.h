// CUDA arrays: texels in rows and slices of the arena.
#pragma once
#include <cuda_runtime_api.h>

#include "machine_texture.h"
#include "runtime_copy.h"

namespace cutune {

struct Array {
    Texture layout;  // base, extents, pitches and format
    cudaChannelFormatDesc format;
    cudaExtent extent;  // as given: 0 for dimensions that it does not have
    unsigned flags;
};

// The array behind a handle, or nullptr.
const Array* find_array(cudaArray_const_t handle);
// A place in an array; x counts elements.
Place place_in(const Array& array, const cudaPos& at);

// Extents and format of texels in a Texture. False for formats that textures do not have.
bool describe_format(const cudaChannelFormatDesc& format, Texture* texture);

// Forget all handles (cudaDeviceReset).
void forget_arrays();
void forget_textures();

}  // namespace cutune
