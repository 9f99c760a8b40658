// Keeps versions of basic blocks, and makes them when they are first needed: see machine_version.h.
#include "machine_version.h"

#include <algorithm>

#include "machine_translation.h"

namespace cutune {

namespace {

constexpr size_t MOST_VERSIONS = 8;  // of a block

}  // namespace

// Blocks stand in the order of their code.
const Instruction* end_of(const ModuleImage& module, const Block& block) {
    return block.index + 1 < module.blocks.size()
               ? module.blocks[block.index + 1].first
               : module.code.data() + module.code.size();
}

Versions::Versions(Execution& x, bool traced)
    : x_(x), traced_(traced), first_block_(x.kernel.first_block),
      constants_(u32(x.kernel.register_bytes - x.kernel.constants.size())),
      plain_((x.kernel.register_bytes + SHAPE_BYTES - 1) / SHAPE_BYTES, IN_LANES),
      ready_(plain_.size()), first_(x.kernel.block_count), all_(x.kernel.block_count) {
    std::fill(plain_.begin() + constants_ / SHAPE_BYTES, plain_.end(), IN_LANES | UNIFORM_SHAPE);
    for (u32 axis = 0; axis < 3; axis++) {
        bool* const of = of_threads_[axis];
        of[0] = of[1] = true;
        for (Warp& w : x.warps) {
            if (w.index * LANES + LANES > x.launch.block[0] * x.launch.block[1] * x.launch.block[2])
                continue;
            const u32* const t = w.thread[axis];
            const Steps32 s = thread_steps(w, axis);
            of[1] = of[1] && !s[1] && !s[2];
            for (u32 l = 0; l < LANES; l++)
                of[0] = of[0] && t[l] == s[0] + s[1] * x.lattice.column[l] + s[2] * x.lattice.row[l];
        }
    }
}

void Versions::use_constant(u32 offset, u8 width) {
    if (ready_[offset / SHAPE_BYTES]) return;
    ready_[offset / SHAPE_BYTES] = true;
    for (Warp& w : x_.warps) {  // which may be in a called function
        const u8* const lanes = w.register_memory + offset;
        if (width == 8) set_scalar<u64>(w, offset, *reinterpret_cast<const u64*>(lanes));
        else set_scalar<u32>(w, offset, *reinterpret_cast<const u32*>(lanes));
    }
}

// How often instructions of the kernel name a register, or an offset that could be one.
u32 Versions::mentions(u32 offset) {
    if (mentions_.empty()) {
        mentions_.resize(plain_.size());
        const auto mention = [&](u32 at) {
            if (at % SHAPE_BYTES == 0 && at / SHAPE_BYTES < mentions_.size() &&
                mentions_[at / SHAPE_BYTES] < 255)
                mentions_[at / SHAPE_BYTES]++;
        };
        const ModuleImage& module = x_.module;
        const Instruction* const end =
            end_of(module, module.blocks[first_block_ + x_.kernel.block_count - 1]);
        for (const Instruction* i = module.blocks[first_block_].first; i < end; i++)
            for (const u32 at : {i->d, i->a, i->b, i->c, i->x}) mention(at);
        for (const u32 at : module.operands) mention(at);
    }
    return mentions_[offset / SHAPE_BYTES];
}

Version* Versions::make(const Block& block, const Shapes& entry) {
    const u32 k = block.index - first_block_;
    auto version = std::make_unique<Version>();
    version->block = &block;
    version->entry = entry;
    Translation(*this, *version).run();
    if (!first_[k] && entry == plain_) first_[k] = version.get();
    all_[k].push_back(std::move(version));
    return all_[k].back().get();
}

void Versions::find(Warp& w, u32 edge, const Block& block) {
    Version& from = *w.version;
    w.block = &block;
    const auto& known = all_[block.index - first_block_];
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& each) { return each->entry == from.exit; });
    if (found != known.end()) {
        from.next[edge] = found->get();
    } else if (known.size() < MOST_VERSIONS) {
        from.next[edge] = make(block, from.exit);
    } else {
        return leave(w, from.exit);
    }
    w.version = from.next[edge];
}

const Instruction* Versions::original(const Instruction* step) const {
    for (const auto& versions : all_)
        for (const auto& version : versions) {
            const Instruction* const first = version->steps.data();
            if (!std::less<>()(step, first) && std::less<>()(step, first + version->steps.size()))
                return &x_.module.code[version->origins[step - first]];
        }
    return step;
}

const Instruction* retreat(const Instruction* step, Warp& w) {
    const Version& version = *w.version;
    const u32 k = u32(step - version.steps.data());
    for (const auto& each : version.retreats)
        if (each.first == k) {
            leave(w, each.second);
            break;
        }
    return &w.execution->module.code[version.origins[k]];
}

}  // namespace cutune
