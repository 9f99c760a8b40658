// The file of findings: a line of JSON per launch that had any, read by cutune/emulator/findings.py.
#include "runtime_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime.h"

namespace cutune {

Checker* checker() {
    static Checker* const shared =
        environment("CUTUNE_CHECK").empty() ? nullptr : make_checker();
    return shared;
}

Written* written() { return checker() ? written_of(checker()) : nullptr; }

void log_findings(const Function& function, const Report& report) {
    if (!checker() || report.findings.empty() || report.findings == "[]") return;
    static const int file = open(environment("CUTUNE_CHECK").c_str(),
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string line = "{\"schema\":\"cutune-findings-1\",\"kernel\":\"" + function.name +
                             "\",\"module\":\"" + function.module->ptx_path +
                             "\",\"findings\":" + report.findings + "}\n";
    if (file < 0 || write(file, line.data(), line.size()) < 0)
        say_once(std::string("cannot write findings: ") + std::strerror(errno));
}

}  // namespace cutune
