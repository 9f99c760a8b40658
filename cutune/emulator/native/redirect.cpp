// Redirects what a GPU would run to the emulated device. The dynamic linker loads this library beside
// a program (LD_AUDIT, see rtld-audit(7)), and shows it each file before code of the file has run.
//
// * NVIDIA's runtime, where it is linked in statically: its functions stand in the file's table of
//   symbols. Each gets a jump to the function of its name in the replacement libcudart, which is
//   loaded when the first of them is called. Nothing else of that runtime is then reached.
// * NVRTC makes machine code. Who asks for that gets its PTX. It finds its own parts at once.
// * In place of cuBLAS, cuFFT and their like the emulated ones are loaded, wherever a program
//   looks for them.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cutune {

// Defined where the library is made (link.py): what is said of a file with another runtime, with a
// place for its path and for its version of CUDA.
extern const char other_runtime_text[];

namespace {

// A function that is redirected: its entry jumps to `target`, with the address of this in r11.
struct Redirected {
    const void* target;
    const char* name;
    const char* file;
    int cuda;  // the first number of the version
};

[[noreturn]] void end(const char* format, const char* file, int cuda) {
    std::fprintf(stderr, "cutune: ");
    std::fprintf(stderr, format, file, cuda);
    std::fprintf(stderr, "\n");
    _exit(1);
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

// What a redirected function does when it is called first: finds the replacement, keeping the
// caller's arguments, and goes there.
void cutune_find_replacement();
// The same for a function that there is no replacement for.
void cutune_no_replacement();

__attribute__((visibility("hidden"))) void* cutune_not_emulated = nullptr;

__attribute__((visibility("hidden"))) const void* cutune_replacement(Redirected* function) {
    if (function->cuda != CUTUNE_CUDA) end(other_runtime_text, function->file, function->cuda);
    void* const library = dlmopen(LM_ID_BASE, std::getenv("CUTUNE_CUDART"), RTLD_NOW);
    if (!library) end("%s", dlerror(), 0);
    cutune_not_emulated = dlsym(library, "cutune_unsupported_call");
    const void* const found = dlsym(library, function->name);
    function->target = found ? found : reinterpret_cast<const void*>(cutune_no_replacement);
    return function->target;
}

}  // extern "C"

asm(R"(
    .text
    .hidden cutune_find_replacement
    .hidden cutune_no_replacement
cutune_find_replacement:
    push %rbp
    mov %rsp, %rbp
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %rax
    push %r11
    sub $128, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov %r11, %rdi
    call cutune_replacement
    mov %rax, %r10
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $128, %rsp
    pop %r11
    pop %rax
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rbp
    jmp *%r10
cutune_no_replacement:
    mov 8(%r11), %rdi
    jmp *cutune_not_emulated(%rip)
)");

namespace cutune {

namespace {

constexpr size_t kJumpBytes = 13;
constexpr uintptr_t kAlignment = 16;  // of the functions of the runtime
static_assert(kJumpBytes <= kAlignment, "a jump fits");
// So begin the names of functions that the runtime has for itself.
constexpr char kOwn[] = "libcudart_static_";

bool begins(const char* text, const char* wanted) {
    return std::strncmp(text, wanted, std::strlen(wanted)) == 0;
}

// The content of a file, while this lives.
class File {
  public:
    explicit File(const char* path) {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        struct stat about;
        if (file >= 0 && fstat(file, &about) == 0) map(file, static_cast<size_t>(about.st_size));
        if (file >= 0) close(file);
    }
    ~File() {
        if (data_) munmap(data_, bytes_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // So many of them at this offset, or nullptr where the file is shorter.
    template <class Part>
    const Part* at(uint64_t offset, uint64_t count) const {
        const bool holds = offset <= bytes_ && count <= (bytes_ - offset) / sizeof(Part);
        return holds ? reinterpret_cast<const Part*>(data_ + offset) : nullptr;
    }

  private:
    void map(int file, size_t bytes) {
        void* const found = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
        if (found == MAP_FAILED) return;
        data_ = static_cast<char*>(found);
        bytes_ = bytes;
    }

    char* data_ = nullptr;
    size_t bytes_ = 0;
};

// The table of this kind (SHT_SYMTAB or SHT_DYNSYM) of a file; empty where it has none.
class Symbols {
  public:
    Symbols(const File& file, uint32_t kind) {
        const auto* const head = file.at<Elf64_Ehdr>(0, 1);
        if (!head || std::memcmp(head->e_ident, "\x7f" "ELF\x02\x01", 6) != 0) return;
        const auto* const sections = file.at<Elf64_Shdr>(head->e_shoff, head->e_shnum);
        for (int i = 0; sections && i < head->e_shnum; ++i)
            if (sections[i].sh_type == kind && sections[i].sh_link < head->e_shnum)
                read(file, sections[i], sections[sections[i].sh_link]);
    }

    const Elf64_Sym* begin() const { return first_; }
    const Elf64_Sym* end() const { return first_ + count_; }
    const char* name(const Elf64_Sym& symbol) const {
        return symbol.st_name < name_bytes_ ? names_ + symbol.st_name : "";
    }

  private:
    void read(const File& file, const Elf64_Shdr& table, const Elf64_Shdr& strings) {
        const size_t count = table.sh_size / sizeof(Elf64_Sym);
        const auto* const symbols = file.at<Elf64_Sym>(table.sh_offset, count);
        const auto* const names = file.at<char>(strings.sh_offset, strings.sh_size);
        if (!symbols || !names || strings.sh_size == 0 || names[strings.sh_size - 1]) return;
        first_ = symbols;
        count_ = count;
        names_ = names;
        name_bytes_ = strings.sh_size;
    }

    const Elf64_Sym* first_ = nullptr;
    size_t count_ = 0;
    const char* names_ = nullptr;
    size_t name_bytes_ = 0;
};

struct Range {
    uintptr_t begin, end;
};

// Where functions of a file may be changed while nobody runs them.
class OpenCode {
  public:
    OpenCode(uintptr_t begin, uintptr_t end)
        : begin_(begin & ~(kPage - 1)), bytes_(((end + kPage - 1) & ~(kPage - 1)) - begin_) {
        is_open = change(PROT_READ | PROT_WRITE | PROT_EXEC);
    }
    ~OpenCode() {
        if (is_open) change(PROT_READ | PROT_EXEC);
    }
    OpenCode(const OpenCode&) = delete;
    OpenCode& operator=(const OpenCode&) = delete;

    bool is_open;

  private:
    static constexpr uintptr_t kPage = 4096;
    bool change(int access) {
        return mprotect(reinterpret_cast<void*>(begin_), bytes_, access) == 0;
    }
    uintptr_t begin_, bytes_;
};

// mov $value, %r11; then jmp *(%r11) or jmp *%r11
void write_jump(uintptr_t at, uintptr_t value, bool is_through_memory) {
    uint8_t code[kJumpBytes] = {0x49, 0xbb};
    std::memcpy(code + 2, &value, sizeof value);
    code[10] = 0x41;
    code[11] = 0xff;
    code[12] = is_through_memory ? 0x23 : 0xe3;
    std::memcpy(reinterpret_cast<void*>(at), code, sizeof code);
}

bool is_function(const Elf64_Sym& symbol) {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
}

bool is_interface(const char* name) {
    const char* const plain = begins(name, "__") ? name + 2 : name;
    return begins(plain, "cuda") && plain[4] >= 'A' && plain[4] <= 'Z';
}

const Elf64_Sym* find(const Symbols& symbols, const char* name) {
    for (const Elf64_Sym& each : symbols)
        if (is_function(each) && std::strcmp(symbols.name(each), name) == 0) return &each;
    return nullptr;
}

// Which CUDA a runtime is of, as functions tell that came and went.
int cuda_of(const Symbols& symbols) {
    if (find(symbols, "cudaGetDeviceProperties_v2")) return 12;
    return find(symbols, "cudaLaunchCooperativeKernelMultiDevice") ? 11 : 13;
}

// The functions of the runtime lie together, its own ones among them.
Range place_of_runtime(const Symbols& symbols) {
    Range place{~uintptr_t{0}, 0};
    for (const Elf64_Sym& each : symbols) {
        if (!is_function(each) || !begins(symbols.name(each), kOwn)) continue;
        place.begin = std::min<uintptr_t>(place.begin, each.st_value);
        place.end = std::max<uintptr_t>(place.end, each.st_value + each.st_size);
    }
    return place;
}

void redirect_runtime(const Symbols& symbols, uintptr_t base, const char* path) {
    const Range place = place_of_runtime(symbols);
    if (place.end == 0) return;
    const OpenCode code(base + place.begin, base + place.end);
    if (!code.is_open) return;
    const char* const file = strdup(path);
    const int cuda = cuda_of(symbols);
    for (const Elf64_Sym& each : symbols) {
        const char* const name = symbols.name(each);
        if (!is_function(each) || !is_interface(name)) continue;
        if (each.st_value < place.begin || each.st_value + kJumpBytes > place.end) continue;
        // The jump has room up to the function behind this one, however short it is.
        if (each.st_value % kAlignment != 0) continue;
        // Never freed: the code that jumps here may run as long as the program does.
        auto* const made = static_cast<Redirected*>(std::malloc(sizeof(Redirected)));
        const void* const first = reinterpret_cast<const void*>(cutune_find_replacement);
        *made = {first, strdup(name), file, cuda};
        write_jump(base + each.st_value, reinterpret_cast<uintptr_t>(made), true);
    }
}

// Let one function of a library do what another of the same type does.
void join(const Symbols& symbols, uintptr_t base, const char* from, const char* to) {
    const Elf64_Sym* const entry = find(symbols, from);
    const Elf64_Sym* const target = find(symbols, to);
    if (!entry || !target) return;
    const uintptr_t at = base + entry->st_value;
    const OpenCode code(at, at + kJumpBytes);
    if (code.is_open) write_jump(at, base + target->st_value, false);
}

// Where NVRTC lies, with the last slash.
char nvrtc_folder[PATH_MAX];

// What NVRTC asks for by its name alone at first. If that fails it looks beside itself, but while one
// thread does, another fails.
const char* const kBuiltins = "libnvrtc-builtins.so";
const char* const kReplaced[] = {"libcublas.so", "libcublasLt.so", "libcurand.so",
                                 "libcufft.so"};

// The path of a file in a folder, which the linker keeps; nullptr where there is none.
char* existing(const char* folder, const char* file) {
    const size_t size = std::strlen(folder) + std::strlen(file) + 2;
    char* const path = static_cast<char*>(std::malloc(size));
    std::snprintf(path, size, "%s/%s", folder, file);
    if (access(path, R_OK) == 0) return path;
    std::free(path);
    return nullptr;
}

}  // namespace

}  // namespace cutune

extern "C" {

char* la_objsearch(const char* name, uintptr_t*, unsigned flag) {
    char* found = nullptr;
    const char* const slash = std::strrchr(name, '/');
    const char* const folder = std::getenv("CUTUNE_LIBRARIES");
    if (flag == LA_SER_ORIG && begins(name, kBuiltins) && *nvrtc_folder)
        found = existing(nvrtc_folder, name);
    // Where nothing but a name is asked for, LD_LIBRARY_PATH leads to it.
    for (const char* const replaced : kReplaced)
        if (slash && folder && begins(slash + 1, replaced)) found = existing(folder, slash + 1);
    return found ? found : const_cast<char*>(name);
}

unsigned la_version(unsigned offered) { return std::min<unsigned>(offered, LAV_CURRENT); }

unsigned la_objopen(struct link_map* map, Lmid_t, uintptr_t*) {
    const char* const path = map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
    const char* const slash = std::strrchr(path, '/');
    const File file(path);
    if (begins(slash ? slash + 1 : path, "libnvrtc.so")) {
        const size_t length = slash ? static_cast<size_t>(slash + 1 - path) : 0;
        if (length < sizeof nvrtc_folder) std::memcpy(nvrtc_folder, path, length);
        const Symbols symbols(file, SHT_DYNSYM);
        join(symbols, map->l_addr, "nvrtcGetCUBIN", "nvrtcGetPTX");
        join(symbols, map->l_addr, "nvrtcGetCUBINSize", "nvrtcGetPTXSize");
    }
    redirect_runtime(Symbols(file, SHT_SYMTAB), map->l_addr, path);
    return 0;
}

}  // extern "C"
