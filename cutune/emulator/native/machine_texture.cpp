// Texture fetches and surface accesses, as the CUDA C++ Programming Guide defines them ("Texture
// Fetching"): unfiltered at floor(x), filtered with weights of 8 fractional bits between texel
// centres. They do not pass the load/store unit, so the counters of memory sites leave them out.
#include <algorithm>
#include <cmath>
#include <limits>

#include "machine_access.h"
#include "machine_check.h"
#include "machine_half.h"
#include "machine_texture.h"

namespace cutune {
namespace {

const Texture& object_of(const Instruction* i, const Warp& w, u32 lane) {
    const u64* a = reinterpret_cast<const u64*>(w.registers + i->a);
    const Texture* const found = w.execution->memory.texture(a[lane]);
    if (!found)
        fail(Outcome::illegal_address, i, w, lane, "not a texture or surface object");
    const Allocation* const memory = w.execution->memory.find(found->base);
    if (!memory || !memory->live)
        fail(Outcome::illegal_address, i, w, lane, "the memory of this texture was freed");
    return *found;
}

u32 lane_bits(const Warp& w, u32 offset, u32 lane) {
    return reinterpret_cast<const u32*>(w.registers + offset)[lane];
}

// Channels of a texel as 32 bits each; integers are extended, or made fractions.
struct Texel {
    u32 channel[4] = {0, 0, 0, 0};
};

template <class T> u32 integer_channel(const Texture& t, T value) {
    if (!t.normalized_values) return static_cast<u32>(value);
    constexpr f32 LARGEST = static_cast<f32>(std::numeric_limits<T>::max());
    return bits<u32>(std::max(static_cast<f32>(value) / LARGEST, -1.0f));
}

u32 channel_at(const Texture& t, u64 address) {
    const bool is_signed = t.channel == Channel::signed_integer;
    switch (t.channel_bytes) {
        case 1:
            return is_signed ? integer_channel(t, read<s8>(address))
                             : integer_channel(t, read<u8>(address));
        case 2:
            if (t.channel == Channel::floating)
                return bits<u32>(Half::widened(read<u16>(address)));
            return is_signed ? integer_channel(t, read<s16>(address))
                             : integer_channel(t, read<u16>(address));
        default: return read<u32>(address);
    }
}

u64 address_of(const Texture& t, s64 x, s64 y, s64 z) {
    return t.base + u64(z) * t.slice_pitch + u64(y) * t.pitch + u64(x) * t.texel_bytes();
}

// An index brought into 0 to size - 1; false where the border is read.
bool bring_inside(s64& k, u32 size, Wrapping how, bool normalized) {
    if (k >= 0 && k < s64(size)) return true;
    if (how == Wrapping::border) return false;
    if (normalized && how == Wrapping::wrap) {
        k %= size;
        if (k < 0) k += size;
    } else if (normalized && how == Wrapping::mirror) {
        const s64 period = 2 * s64(size);
        k %= period;
        if (k < 0) k += period;
        if (k >= s64(size)) k = period - 1 - k;
    } else {
        k = k < 0 ? 0 : s64(size) - 1;
    }
    return true;
}

Texel texel(const Texture& t, s64 x, s64 y, s64 z) {
    Texel found;
    const bool n = t.normalized_coordinates;
    const bool inside = (!t.linear_memory || (x >= 0 && x < s64(t.width))) &&
                        bring_inside(x, t.width, t.wrapping[0], n) &&
                        bring_inside(y, t.height, t.wrapping[1], n) &&
                        bring_inside(z, t.depth, t.wrapping[2], n);
    for (u32 k = 0; k < 4; k++) {
        if (inside && k < t.channels)
            found.channel[k] = channel_at(t, address_of(t, x, y, z) + k * t.channel_bytes);
        else if (!inside && !t.linear_memory)
            found.channel[k] = bits<u32>(t.border[k]);
    }
    return found;
}

// Position along one dimension: a texel and, with a filter, the weight of the next one.
struct Position {
    s64 index = 0;
    f32 weight = 0;
};

Position position(const Texture& t, f32 x, u32 size) {
    if (t.normalized_coordinates) x *= static_cast<f32>(size);
    if (!(std::fabs(x) < 1e9f)) x = x > 0 ? 1e9f : x < 0 ? -1e9f : 0;
    if (!t.linear_filter) return {static_cast<s64>(std::floor(x)), 0};
    x -= 0.5f;
    const f32 whole = std::floor(x);
    return {static_cast<s64>(whole), std::rint((x - whole) * 256) / 256};
}

Texel filtered(const Texture& t, const Position* p, u32 dimensions, s64 layer) {
    if (!t.linear_filter)
        return texel(t, p[0].index, p[1].index, dimensions == 3 ? p[2].index : layer);
    f32 sum[4] = {0, 0, 0, 0};
    for (u32 corner = 0; corner < 1u << dimensions; corner++) {
        f32 weight = 1;
        s64 at[3] = {0, 0, layer};
        for (u32 d = 0; d < dimensions; d++) {
            const bool next = corner >> d & 1;
            weight *= next ? p[d].weight : 1 - p[d].weight;
            at[d] = p[d].index + next;
        }
        if (weight == 0) continue;
        const Texel one = texel(t, at[0], at[1], at[2]);
        for (u32 k = 0; k < 4; k++) sum[k] += weight * bits<f32>(one.channel[k]);
    }
    Texel result;
    for (u32 k = 0; k < 4; k++) result.channel[k] = bits<u32>(sum[k]);
    return result;
}

s64 layer_of(const Texture& t, u32 number) { return std::min(number, t.depth - 1); }

// The four texels that a filter would mix, one channel of each (tld4: counter-clockwise from the
// lower left).
Texel gathered(const Texture& t, const f32* x, s64 layer, u32 channel) {
    Texture filter = t;
    filter.linear_filter = true;
    const Position p = position(filter, x[0], t.width), q = position(filter, x[1], t.height);
    Texel result;
    const s64 dx[] = {0, 1, 1, 0}, dy[] = {1, 1, 0, 0};
    for (u32 k = 0; k < 4; k++)
        result.channel[k] = texel(t, p.index + dx[k], q.index + dy[k], layer).channel[channel];
    return result;
}

enum : u32 { LAYERED = 1, FLOAT_COORDINATES = 2 };

}  // namespace

// a: object. Further operands: dimensions, LAYERED | FLOAT_COORDINATES, channel to gather and one
// (0: none), number of results, their registers, registers of the coordinates, layer first.
HANDLER(texture_fetch) {
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    const u32 dimensions = table[0], how = table[1], gather = table[2], results = table[3];
    const u32* const to = table + 4;
    const u32* from = to + results;
    FOR_ACTIVE(w, l) {
        const Texture& t = object_of(i, w, l);
        const s64 layer = how & LAYERED ? layer_of(t, lane_bits(w, from[0], l)) : 0;
        const u32* coordinate = from + (how & LAYERED ? 1 : 0);
        const u32 size[3] = {t.width, t.height, t.depth};
        f32 x[3] = {0, 0, 0};
        Position p[3];
        for (u32 d = 0; d < dimensions; d++) {
            const u32 value = lane_bits(w, coordinate[d], l);
            x[d] = bits<f32>(value);
            p[d] = how & FLOAT_COORDINATES ? position(t, x[d], size[d]) : Position{s32(value), 0};
        }
        const Texel found = gather ? gathered(t, x, layer, gather - 1)
                                   : filtered(t, p, dimensions, layer);
        for (u32 k = 0; k < results; k++) w.narrow(to[k])[l] = found.channel[k];
    }
    return i + 1;
}

namespace {

enum Outside : u32 { TRAP, CLAMP, ZERO };

// Where a lane's surface access goes, or 0 where it has no effect. x counts bytes.
u64 surface_address(const Instruction* i, const Warp& w, u32 lane, const u32* table, u32 bytes) {
    const Texture& t = object_of(i, w, lane);
    const u32 dimensions = table[0];
    const bool layered = table[1] & LAYERED;
    const u32* from = table + 4 + table[3] + layered;
    s64 at[3] = {0, 0, 0};
    const s64 size[3] = {s64(t.width) * t.texel_bytes(), t.height, t.depth};
    const s64 last[3] = {size[0] - bytes, size[1] - 1, size[2] - 1};
    if (layered) at[2] = lane_bits(w, table[4 + table[3]], lane);
    for (u32 d = 0; d < dimensions; d++) at[d] = s32(lane_bits(w, from[d], lane));
    for (u32 d = 0; d < 3; d++) {
        if (at[d] >= 0 && at[d] <= last[d]) continue;
        if (table[2] == ZERO) return 0;
        if (table[2] == TRAP)
            fail(Outcome::illegal_address, i, w, lane, "access outside of a surface");
        at[d] = at[d] < 0 ? 0 : last[d];
    }
    return t.base + u64(at[2]) * t.slice_pitch + u64(at[1]) * t.pitch + u64(at[0]);
}

// Further operands: dimensions, LAYERED, what happens outside, number of values, their registers,
// registers of the coordinates, layer first.
template <class T, bool STORE> const Instruction* surface(const Instruction* i, Warp& w) {
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    const u32 values = table[3];
    FOR_ACTIVE(w, l) {
        const u64 address = surface_address(i, w, l, table, values * sizeof(T));
        for (u32 k = 0; k < values; k++) {
            Lane<T>* const value = lanes<T>(w, table[4 + k]);
            if (STORE && address) write<T>(address + k * sizeof(T), unpack<T>(value[l]));
            if (STORE && address && w.execution->launch.checker)
                w.execution->launch.checker->wrote(*w.execution, address, values * sizeof(T));
            if (!STORE) value[l] = address ? pack<T>(read<T>(address + k * sizeof(T))) : 0;
        }
    }
    return i + 1;
}

}  // namespace

HANDLER_OF(surface_load_b8, surface<u8, false>)
HANDLER_OF(surface_load_b16, surface<u16, false>)
HANDLER_OF(surface_load_b32, surface<u32, false>)
HANDLER_OF(surface_load_b64, surface<u64, false>)
HANDLER_OF(surface_store_b8, surface<u8, true>)
HANDLER_OF(surface_store_b16, surface<u16, true>)
HANDLER_OF(surface_store_b32, surface<u32, true>)
HANDLER_OF(surface_store_b64, surface<u64, true>)

}  // namespace cutune
