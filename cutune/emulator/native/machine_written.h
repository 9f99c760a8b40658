// Which bytes of device memory hold something: one bit per byte, only for pages that are neither
// untouched nor full. For `run --check`.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace cutune {

class Written {
  public:
    // From now on [base, base + size) counts as not written. Memory outside of all tracked
    // ranges counts as written: the host may have filled it.
    void track(uint64_t base, uint64_t size);
    void forget(uint64_t base);
    void write(uint64_t address, uint64_t bytes);
    // What a copy of `bytes` does: unwritten bytes stay so at their new place.
    void copy(uint64_t to, uint64_t from, uint64_t bytes);
    bool holds(uint64_t address, uint64_t bytes) const;

  private:
    static constexpr uint64_t PAGE = 4096;
    struct Page {
        uint64_t bits[PAGE / 64] = {};
        uint32_t count = 0;
    };
    struct Region {
        uint64_t base = 0, size = 0;
        std::vector<bool> full;
        std::vector<std::unique_ptr<Page>> pages;
    };
    const Region* region(uint64_t address) const;

    std::map<uint64_t, Region> regions_;
    mutable const Region* last_ = nullptr;
};

}  // namespace cutune
