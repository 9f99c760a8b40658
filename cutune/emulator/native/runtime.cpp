// The shared state of the replacement libcudart, its device clock and its messages.
#include "runtime.h"

#include "runtime_check.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

namespace cutune {

extern const char not_emulated_text[];
extern const char static_runtime_text[];

namespace {

// No more than the host has: a program that fills the memory of an H200 must get
// cudaErrorMemoryAllocation here, not be killed by the host.
uint64_t arena_capacity() {
    const uint64_t pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
    const std::string limit = environment("CUTUNE_MEMORY_LIMIT");
    if (!limit.empty()) return std::strtoull(limit.c_str(), nullptr, 10);
    const uint64_t host = pages * static_cast<uint64_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
    return host == 0 ? device().memory_bytes : std::min(device().memory_bytes, host);
}

// A GPU maps memory in large pages: what lies shortly behind an allocation can be accessed, too.
uint64_t overrun_bytes() {
    const uint64_t asked = std::strtoull(environment("CUTUNE_OVERRUN").c_str(), nullptr, 10);
    return std::min(asked, uint64_t{1} << 21);
}

// NVIDIA's libraries bring kernels as machine code and a runtime of their own: given addresses of
// the emulated device, they would fail, or compute on a GPU what nobody here sees.
const char* const kClosedLibraries[] = {"libcublas",  "libcudnn",  "libcufft",   "libcurand",
                                        "libcusolver", "libcusparse", "libcutensor", "libnccl",
                                        "libnpp",     "libnvjpeg"};

constexpr const char* kClosed =
    " is not supported on the emulated device: it brings its kernels as machine code";

const char* file_name(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool is_closed_library(const char* name) {
    for (const char* closed : kClosedLibraries)
        if (std::strncmp(name, closed, std::strlen(closed)) == 0) return true;
    return false;
}

// A loaded file, and the names of the libraries that it is linked to. `is_this`: the replacement.
struct Loaded {
    std::string name;
    bool is_this;
    std::vector<const char*> needed;
};

int note_loaded(dl_phdr_info* file, size_t, void* files) {
    Dl_info here;
    const bool is_known = dladdr(reinterpret_cast<const void*>(&note_loaded), &here) != 0;
    const bool is_this = is_known && reinterpret_cast<ElfW(Addr)>(here.dli_fbase) == file->dlpi_addr;
    Loaded found{file_name(file->dlpi_name), is_this, {}};
    const ElfW(Dyn)* first = nullptr;
    for (int i = 0; i < file->dlpi_phnum; ++i)
        if (file->dlpi_phdr[i].p_type == PT_DYNAMIC)
            first = reinterpret_cast<const ElfW(Dyn)*>(file->dlpi_addr + file->dlpi_phdr[i].p_vaddr);
    const char* strings = nullptr;
    for (const auto* entry = first; entry && entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    for (const auto* entry = first; strings && entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_NEEDED) found.needed.push_back(strings + entry->d_un.d_val);
    static_cast<std::vector<Loaded>*>(files)->push_back(found);
    return 0;
}

[[noreturn]] void refuse(const std::string& library) {
    std::fflush(nullptr);
    say("%s%s", library.c_str(), kClosed);
    _exit(1);
}

// Does who looks for the driver find this library?
bool is_driver() {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
    Dl_info there, here;
    return driver && dladdr(dlsym(driver, "cuInit"), &there) &&
           dladdr(reinterpret_cast<const void*>(&is_driver), &here) &&
           there.dli_fbase == here.dli_fbase;
}

// A program that is linked to one of those libraries, or to a library that is, and finds NVIDIA's: of
// some there are replacements (library_blas.cpp and others). What is loaded later may stay
// unused, as by the modules of CuPy; who uses it gets an error from the driver, where that is this
// (say_static_runtime).
void refuse_closed_libraries() {
    std::vector<Loaded> files;
    dl_iterate_phdr(note_loaded, &files);
    std::vector<std::string> linked;
    const auto add = [&linked](const Loaded& file) {
        for (const char* name : file.needed)
            if (std::find(linked.begin(), linked.end(), name) == linked.end())
                linked.push_back(name);
    };
    if (!files.empty()) add(files.front());  // the program itself
    for (size_t i = 0; i < linked.size(); ++i) {
        const std::string name = linked[i];
        for (const Loaded& file : files) {
            if (file.name != name || file.is_this) continue;
            if (is_closed_library(name.c_str())) refuse(name);
            add(file);
        }
    }
    for (const Loaded& file : files)
        if (!file.is_this && is_closed_library(file.name.c_str()) && !is_driver()) refuse(file.name);
}

}  // namespace

Runtime::Runtime() : arena(arena_capacity(), overrun_bytes()) {
    refuse_closed_libraries();
    device_count();  // a wrong one ends the program before it has done anything
    arena.written = written();
}

Runtime& runtime() {
    static Runtime* const shared = new Runtime;
    return *shared;
}

namespace {

// Half to three halves, by a hash.
double about_one(uint64_t mixed) {
    mixed *= 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return 0.5 + static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
}

// A step of the clock. With CUTUNE_CLOCK_SEED times vary from run to run, as on a GPU: each step by
// itself, and all of them together, since the mean of many steps would always be the same.
void advance_clock(double ms) {
    static const uint64_t seed =
        std::strtoull(environment("CUTUNE_CLOCK_SEED", "0").c_str(), nullptr, 10);
    static uint64_t steps = 0;
    if (seed) ms *= about_one(seed) * about_one(seed + ++steps);
    runtime().clock_ms += ms;
}

}  // namespace

void advance_clock_by_launch(uint64_t warp_instructions, uint64_t blocks) {
    const Device& d = device();
    const double processors = static_cast<double>(
        std::clamp<uint64_t>(blocks, 1, static_cast<uint64_t>(d.multiprocessors)));
    const double issued_per_ms = processors * 4.0 * static_cast<double>(d.clock_khz);
    advance_clock(static_cast<double>(warp_instructions) / issued_per_ms + d.launch_floor_us / 1e3);
}

void advance_clock_by_copy(uint64_t bytes, bool leaves_device) {
    const Device& d = device();
    const double gigabytes_per_s = leaves_device ? d.link_gbs : d.dram_gbs / 2;
    advance_clock(static_cast<double>(bytes) / (gigabytes_per_s * 1e6) + d.launch_floor_us / 1e3);
}

void say(const char* format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "cutune: %s\n", text);
}

void say_once(const std::string& text, const std::string& about) {
    static std::set<std::string>* const said = new std::set<std::string>;
    static std::mutex guard;
    std::lock_guard<std::mutex> lock(guard);
    if (said->insert(about.empty() ? text : about).second) say("%s", text.c_str());
}

namespace {

// Texts with a place for a name, defined where the library is made (link.py).
void say_once_about(std::string text, const std::string& name) {
    text.replace(text.find("%s"), 2, name);
    say_once(text);
}

}  // namespace

void say_not_emulated(const std::string& what) { say_once_about(not_emulated_text, what); }

void say_static_runtime(const std::string& library) {
    const char* const name = file_name(library.c_str());
    if (is_closed_library(name))
        say_once(name + std::string(kClosed));
    else
        say_once_about(static_runtime_text, library);
}

std::string environment(const char* name, const std::string& fallback) {
    const char* value = std::getenv(name);
    return value && *value ? value : fallback;
}

}  // namespace cutune
