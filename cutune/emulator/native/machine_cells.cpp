// The last accesses of every word: pages of cells, made when they are first touched.
#include <unistd.h>

#include <algorithm>

#include "machine_check.h"

namespace cutune {

namespace {

// A quarter of the host's memory for the cells of global memory.
u64 cell_limit() {
    static const u64 limit = u64(std::max(1L, sysconf(_SC_PHYS_PAGES))) *
                             u64(std::max(1L, sysconf(_SC_PAGESIZE))) / 4;
    return limit;
}

}  // namespace

Cells::Page* Cells::find(u64 number, u32 bytes) {
    const auto found = pages_.find(number);
    if (found != pages_.end()) {
        last_ = &found->second;
    } else {
        if (bytes_ > cell_limit()) {
            incomplete_ = true;
            return nullptr;
        }
        last_ = &pages_[number];
        last_->cells.resize(PAGE / last_->unit);
        bytes_ += PAGE / last_->unit * sizeof(Cell);
    }
    last_number_ = number;
    if (bytes < last_->unit) {
        std::vector<Cell> narrow(PAGE);
        for (u64 k = 0; k < PAGE; k++) narrow[k] = last_->cells[k / last_->unit];
        last_->cells.swap(narrow);
        last_->unit = 1;
        bytes_ += PAGE * sizeof(Cell);
    }
    return last_;
}

void Cells::clear() {
    pages_.clear();
    last_number_ = ~0ull;
    last_ = nullptr;
    bytes_ = 0;
}

}  // namespace cutune
