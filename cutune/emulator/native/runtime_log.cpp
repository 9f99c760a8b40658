// The launch log. Addresses are recorded as base, size and distance of the allocation that they
// point into, so that a launch can be replayed at other addresses and other sizes.
#include "runtime_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "runtime.h"

namespace cutune {

namespace {

struct Log {
    int file = -1;
    uint64_t limit = UINT64_MAX;
    uint64_t sequence = 0;
    std::map<std::pair<const Function*, int>, uint64_t> written;
};

Log& launch_log() {
    static Log* const shared = [] {
        Log* const log = new Log;
        const std::string path = environment("CUTUNE_LAUNCH_LOG");
        const std::string limit = environment("CUTUNE_LOG_LIMIT");
        if (!limit.empty()) log->limit = std::strtoull(limit.c_str(), nullptr, 10);
        if (path.empty()) return log;
        log->file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (log->file < 0) say("cannot write '%s': %s", path.c_str(), std::strerror(errno));
        return log;
    }();
    return *shared;
}

// One write, so that lines of several processes do not mix.
void write_line(const std::string& line) {
    if (write(launch_log().file, line.data(), line.size()) < 0)
        say_once(std::string("cannot write the launch log: ") + std::strerror(errno));
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) >= ' ') result += c;
    }
    return result + "\"";
}

std::string field(const char* name, uint64_t value) {
    return quoted(name) + ":" + std::to_string(value);
}

std::string triple(const uint32_t (&values)[3]) {
    return "[" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," +
           std::to_string(values[2]) + "]";
}

std::string hexadecimal(const uint8_t* bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    std::string result;
    for (size_t i = 0; i < size; ++i) {
        result += digits[bytes[i] >> 4];
        result += digits[bytes[i] & 15];
    }
    return result;
}

// Every aligned word of the parameters that is an address in a live allocation.
std::string pointers(const uint8_t* parameters, uint32_t bytes) {
    std::string result;
    for (uint32_t offset = 0; offset + 8 <= bytes; offset += 8) {
        uint64_t value = 0;
        std::memcpy(&value, parameters + offset, sizeof value);
        const Allocation* const target = runtime().arena.block(value);
        if (!target || !target->live) continue;
        result += (result.empty() ? "{" : ",{") + field("offset", offset) + "," +
                  field("base", target->base) + "," + field("size", target->size) + "," +
                  field("delta", value - target->base) + "}";
    }
    return "[" + result + "]";
}

std::string site_counters(size_t number, const Site& site) {
#define COUNTER(name, kind, unit, what) +"," + field(#name, site.name)
    return "{" + field("site", number) CUTUNE_SITE_COUNTERS(COUNTER) + "}";
#undef COUNTER
}

// Only basic blocks and sites that were executed: a module may have many kernels.
std::string counters(const Launch& launch, const Report& report) {
    if (!launch.count && !launch.trace) return "null";
    std::string blocks, sites;
    for (size_t i = 0; i < report.block_executions.size(); ++i)
        if (report.block_executions[i] > 0)
            blocks += (blocks.empty() ? "[" : ",[") + std::to_string(i) + "," +
                      std::to_string(report.block_executions[i]) + "," +
                      std::to_string(report.block_lanes[i]) + "]";
    for (size_t i = 0; i < report.sites.size(); ++i)
        if (report.sites[i].executions > 0)
            sites += (sites.empty() ? "" : ",") + site_counters(i, report.sites[i]);
    return "{" + field("executed_blocks", report.executed_blocks) + "," +
           field("working_threads", report.working_threads) + ",\"blocks\":[" + blocks +
           "],\"sites\":[" + sites + "]}";
}

std::string members(const std::vector<Member>& found) {
    std::string result;
    for (const Member& m : found) {
        result += result.empty() ? "[" : ",[";
        for (const int value : {m.position, m.argument, m.offset, m.bytes})
            result += std::to_string(value) + ",";
        result += m.is_signed ? "true]" : "false]";
    }
    return "[" + result + "]";
}

}  // namespace

void log_launch(const LaunchRecord& record) {
    Log& log = launch_log();
    const uint64_t sequence = log.sequence++;
    if (log.file < 0) return;
    if (log.written[{record.function, record.site}]++ >= log.limit) return;
    const KernelCode& code = *record.function->here().code;
    const Launch& launch = *record.launch;
    const Report& report = *record.report;
    const std::string line =
        "{\"schema\":\"cutune-launch-1\"," + field("sequence", sequence) +
        ",\"site\":" + (record.site < 0 ? "null" : std::to_string(record.site)) +
        "," + field("signature", record.signature) +
        ",\"kernel\":" + quoted(record.function->name) +
        ",\"module\":" + quoted(record.function->module->ptx_path) +
        ",\"grid\":" + triple(launch.grid) + ",\"block\":" + triple(launch.block) + "," +
        field("shared", launch.dynamic_shared_bytes) + ",\"parameters\":\"" +
        hexadecimal(launch.parameters, code.parameter_bytes) +
        "\",\"pointers\":" + pointers(launch.parameters, code.parameter_bytes) +
        ",\"members\":" + members(record.members) + "," +
        field("warp_instructions", report.warp_instructions) + "," +
        field("thread_instructions", report.thread_instructions) +
        ",\"counters\":" + counters(launch, report) + "}\n";
    write_line(line);
}

void log_cut() {
    if (launch_log().file >= 0) write_line("{\"schema\":\"cutune-cut-1\"}\n");
}

}  // namespace cutune
