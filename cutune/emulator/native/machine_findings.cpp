// What a checker found, as JSON; read by cutune/emulator/findings.py.
#include <set>

#include "machine_check.h"

namespace cutune {

namespace {

const char* const HAZARD_NAMES[] = {
    "out_of_bounds", "misaligned",  "use_after_free", "unwritten_shared",
    "unwritten_global", "shared_race", "global_race",    "diverged_race",
    "block_race",    "same_value",  "barrier_divergence", "exited_at_barrier",
};
const char* const KINDS[] = {"load", "store", "atomic"};

bool is_race(Hazard hazard) {
    return hazard == Hazard::shared_race || hazard == Hazard::global_race ||
           hazard == Hazard::block_race || hazard == Hazard::diverged_race;
}

std::string triple(u64 index, const u32 (&extent)[3]) {
    return "[" + std::to_string(index % extent[0]) + "," +
           std::to_string(index / extent[0] % extent[1]) + "," +
           std::to_string(index / extent[0] / extent[1]) + "]";
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

}  // namespace

std::string Checker::findings() const {
    const auto kind = [&](const Instruction* i) {
        return std::string(KINDS[x_->module.sites[i->x].kind]);
    };
    // A read that races with the write may come before it: that is one mistake, not two.
    std::set<u32> racing;
    for (const auto& [key, finding] : findings_)
        if (is_race(std::get<0>(key))) racing.insert({std::get<1>(key), std::get<2>(key)});
    std::string result;
    for (const auto& [key, finding] : findings_) {
        const Hazard hazard = std::get<0>(key);
        const bool unwritten =
            hazard == Hazard::unwritten_shared || hazard == Hazard::unwritten_global;
        if (unwritten && racing.count(std::get<1>(key))) continue;
        const bool barrier = hazard >= Hazard::barrier_divergence;
        result += result.empty() ? "{" : ",{";
        result += "\"hazard\":\"" + std::string(HAZARD_NAMES[u8(hazard)]) +
                  "\",\"count\":" + std::to_string(finding.count) +
                  ",\"line\":" + std::to_string(line(finding.at)) + ",\"access\":\"" +
                  (barrier ? "" : kind(finding.at)) +
                  "\",\"block\":" + triple(finding.block, x_->launch.grid) +
                  ",\"thread\":" + triple(finding.thread, x_->launch.block);
        if (finding.other)
            result += ",\"other_line\":" + std::to_string(line(finding.other)) +
                      ",\"other_access\":\"" + (barrier ? "" : kind(finding.other)) +
                      "\",\"other_block\":" + triple(finding.other_block, x_->launch.grid) +
                      ",\"other_thread\":" + triple(finding.other_thread, x_->launch.block);
        result += ",\"text\":\"" + escaped(finding.text) + "\"}";
    }
    return "[" + result + "]";
}

}  // namespace cutune
