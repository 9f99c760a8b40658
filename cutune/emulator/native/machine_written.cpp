// Bits for bytes that hold something; see machine_written.h.
#include "machine_written.h"

#include <algorithm>

namespace cutune {

void Written::track(uint64_t base, uint64_t size) {
    last_ = nullptr;
    Region& region = regions_[base];
    const uint64_t pages = (size + PAGE - 1) / PAGE;
    region.base = base;
    region.size = size;
    region.full.assign(pages, false);
    region.pages.clear();
    region.pages.resize(pages);
}

void Written::forget(uint64_t base) {
    last_ = nullptr;
    regions_.erase(base);
}

const Written::Region* Written::region(uint64_t address) const {
    if (last_ && address - last_->base < last_->size) return last_;
    auto after = regions_.upper_bound(address);
    if (after == regions_.begin()) return nullptr;
    const Region& found = (--after)->second;
    if (address - found.base >= found.size) return nullptr;
    return last_ = &found;
}

void Written::write(uint64_t address, uint64_t bytes) {
    Region* const into = const_cast<Region*>(region(address));
    if (!into) return;
    uint64_t at = address - into->base;
    const uint64_t end = std::min(at + bytes, into->size);
    while (at < end) {
        const uint64_t number = at / PAGE, stop = std::min(end, (number + 1) * PAGE);
        if (stop - at == PAGE) {
            into->full[number] = true;
            into->pages[number].reset();
        }
        if (into->full[number]) {
            at = stop;
            continue;
        }
        if (!into->pages[number]) into->pages[number].reset(new Page());
        Page& page = *into->pages[number];
        for (; at < stop; at++) {
            uint64_t& word = page.bits[at % PAGE / 64];
            const uint64_t bit = uint64_t{1} << at % 64;
            page.count += !(word & bit);
            word |= bit;
        }
        if (page.count == PAGE) {
            into->full[number] = true;
            into->pages[number].reset();
        }
    }
}

bool Written::holds(uint64_t address, uint64_t bytes) const {
    const Region* const from = region(address);
    if (!from) return true;
    uint64_t at = address - from->base;
    const uint64_t end = std::min(at + bytes, from->size);
    while (at < end) {
        const uint64_t number = at / PAGE, stop = std::min(end, (number + 1) * PAGE);
        if (!from->full[number]) {
            const Page* const page = from->pages[number].get();
            if (!page) return false;
            for (; at < stop; at++)
                if (!(page->bits[at % PAGE / 64] >> at % 64 & 1)) return false;
        }
        at = stop;
    }
    return true;
}

void Written::copy(uint64_t to, uint64_t from, uint64_t bytes) {
    const Region* const into = region(to);
    if (!into) return;
    if (!region(from) || holds(from, bytes)) {
        write(to, bytes);
        return;
    }
    for (uint64_t k = 0; k < bytes; k++)
        if (holds(from + k, 1)) write(to + k, 1);
}

}  // namespace cutune
