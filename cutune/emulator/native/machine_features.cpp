// What the addresses of one execution of a memory instruction cost: see machine_trace.cpp.
#include <algorithm>
#include <cstddef>

#include "machine_core.h"

namespace cutune {

namespace {

u32 gather(const u64* address, u32 mask, u64* found) {
    u32 count = 0;
    bool sorted = true;
    for (; mask; mask &= mask - 1) {
        found[count] = address[__builtin_ctz(mask)];
        sorted &= count == 0 || found[count - 1] <= found[count];
        count++;
    }
    if (!sorted) std::sort(found, found + count);
    return count;
}

// Distinct words in the busiest bank; `sorted` addresses.
u32 busiest_bank(const u64* sorted, u32 count, u32 bytes) {
    u8 bank[LANES] = {};
    u32 most = 0;
    u64 last = ~0ull;
    for (u32 k = 0; k < count; k++) {
        const u64 end = (sorted[k] + bytes - 1) >> 2;
        for (u64 word = sorted[k] >> 2; word <= end; word++) {
            if (last != ~0ull && word <= last) continue;
            last = word;
            most = std::max<u32>(most, ++bank[word & 31]);
        }
    }
    return most;
}

// As many wavefronts as `lanes` at once need, one part of the warp after the other.
u32 wavefronts_of(const u64* address, u32 mask, u32 bytes, u32 lanes) {
    u32 total = 0;
    for (u32 first = 0; first < LANES; first += lanes) {
        const u32 part = mask & (lanes == LANES ? FULL : ((1u << lanes) - 1) << first);
        if (!part) continue;
        u64 sorted[LANES];
        total += busiest_bank(sorted, gather(address, part, sorted), bytes);
    }
    return total;
}

// Has each lane the address of its neighbour, `distance` lanes apart?
bool are_paired(const u64* address, u32 mask, u32 distance) {
    for (u32 left = mask; left; left &= left - 1) {
        const u32 lane = u32(__builtin_ctz(left)), other = lane ^ distance;
        if (mask >> other & 1 && address[other] != address[lane]) return false;
    }
    return true;
}

u32 lanes_at_once(u32 bytes) {
    return bytes <= 4 ? LANES : bytes == 8 ? LANES / 2 : LANES / 4;
}

}  // namespace

void uniform_features(u64 address, u32 bytes, Features& f) {
    f.line[0] = 0;
    f.touched[0] = u8(1 << (address >> 5 & 3));
    f.sectors = f.lines = 1;
    f.wavefronts = std::max(1u, bytes / 4);
    f.bytes = bytes;
    f.partial_lines = bytes < 32;
    f.lowest = 0;
    f.highest = bytes;
    f.finish();
}

void sequential_features(u64 address, u32 bytes, Features& f) {
    const u64 end = address + LANES * bytes;
    f.sectors = ((end - 1) >> 5) - (address >> 5) + 1;
    f.full = (end >> 5) - ((address + 31) >> 5);
    f.lines = ((end - 1) >> 7) - (address >> 7) + 1;
    const u32 begins = address >> 5 & 3, ends = 3 - ((end - 1) >> 5 & 3);
    for (u32 k = 0; k < f.lines; k++) {
        const u32 head = k ? 0 : begins, tail = k + 1 < f.lines ? 0 : ends;
        f.line[k] = k;
        f.touched[k] = u8(15u >> (head + tail) << head);
    }
    f.bytes = LANES * bytes;
    const bool head = address & 31, tail = end & 31;
    f.partial_lines = f.lines == 1 ? head || tail : head + tail;
    f.wavefronts = std::max(1u, bytes / 4);
    f.lowest = 0;
    f.highest = LANES * bytes;
    f.finish();
}

u32 shared_wavefronts(const u64* address, u32 mask, u32 bytes) {
    const bool twice = bytes > 4 && (are_paired(address, mask, 1) || are_paired(address, mask, 2));
    return wavefronts_of(address, mask, bytes, lanes_at_once(bytes) << twice);
}

void scattered_features(const u64* address, u32 mask, u32 bytes, Features& f) {
    u64 sorted[LANES];
    const u32 count = gather(address, mask, sorted);
    const u64 first = address[__builtin_ctz(mask)];
    const u32 touch = bytes >= 32 ? ~0u : (1u << bytes) - 1;
    u32 touched = 0;
    bool partial = false;  // some sector of the line
    u64 last = 0;
    const auto sector_ends = [&] {
        f.full += touched == ~0u;
        f.bytes += __builtin_popcount(touched);
        partial |= touched != ~0u;
    };
    for (u32 k = 0; k < count; k++) {
        const u64 sector = sorted[k] >> 5;
        if (k == 0 || sector != last) {
            if (k) sector_ends();
            if (k == 0 || sector >> 2 != last >> 2) {
                f.partial_lines += partial;
                partial = false;
                f.touched[f.lines] = 0;
                f.line[f.lines++] = s64((sector >> 2) - (first >> 7));
            }
            f.touched[f.lines - 1] |= u8(1 << (sector & 3));
            f.sectors++;
            touched = 0;
            last = sector;
        }
        touched |= touch << (sorted[k] & 31);
    }
    sector_ends();
    f.partial_lines += partial;
    f.wavefronts = bytes <= 4 ? busiest_bank(sorted, count, bytes)
                              : wavefronts_of(address, mask, bytes, lanes_at_once(bytes));
    f.lowest = s64(sorted[0] - first);
    f.highest = s64(sorted[count - 1] + bytes - first);
    f.finish();
}

u64 Features::signature() const {
    u64 all = lines;
    for (u32 k = 0; k < lines; k++) all = mixed(all ^ (u64(line[k]) << 4 | touched[k]));
    return all | 1;
}

void Features::finish() {
    const u64 loading = std::max(COST_UNITS * wavefronts, LINE_LOOKUP * lines);
    const u32 parts = bytes * COST_UNITS / SECTOR_BYTES + PARTIAL_LINE * partial_lines;
    const u64 storing =
        sectors ? std::max(parts, STORED_LINE * lines) : COST_UNITS * wavefronts;
    for (const bool loads : {false, true})
        sums[loads] = Sums{1, sectors, full, lines, wavefronts, loads ? loading : 0,
                           loads ? 0 : storing, 0};
}

}  // namespace cutune
