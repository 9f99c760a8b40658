// Textures and surfaces as the machine sees them: texels in rows and slices of device memory.
#pragma once
#include <cstdint>

namespace cutune {

enum class Wrapping : uint8_t { wrap, clamp, mirror, border };  // as cudaTextureAddressMode
enum class Channel : uint8_t { signed_integer, unsigned_integer, floating };

// What a texture or surface object stands for. Extents are in texels, pitches in bytes; a layer of
// a layered texture is a slice.
struct Texture {
    uint64_t base = 0;
    uint32_t width = 0, height = 1, depth = 1;
    uint64_t pitch = 0, slice_pitch = 0;
    uint32_t channels = 1, channel_bytes = 4;
    Channel channel = Channel::floating;
    Wrapping wrapping[3] = {Wrapping::clamp, Wrapping::clamp, Wrapping::clamp};
    bool linear_filter = false;
    bool normalized_coordinates = false;
    bool normalized_values = false;  // integers are read as fractions of their largest value
    bool linear_memory = false;      // cudaResourceTypeLinear: reads beyond it give zeros
    float border[4] = {0, 0, 0, 0};

    uint32_t texel_bytes() const { return channels * channel_bytes; }
    uint64_t bytes() const {
        return (depth - 1) * slice_pitch + (height - 1) * pitch + uint64_t(width) * texel_bytes();
    }
};

}  // namespace cutune
