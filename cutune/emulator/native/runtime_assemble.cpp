// From PTX to an image: asks the Python assembler, once per text and version, and keeps the result
// in the user's cache folder.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "runtime.h"
#include "runtime_modules.h"

extern char** environ;

namespace cutune {

// Defined where the library is made (link.py): the interpreter, the folder that holds the package.
// A library that came with the package names neither: it lies in the package.
extern const char default_python[];
extern const char package_root[];

namespace {

// The folder that holds the package.
const std::string& package_folder() {
    static const std::string folder = [] {
        std::string path = package_root;
        if (!path.empty()) return path;
        Dl_info own;
        if (!dladdr(default_python, &own)) return path;
        char* const real = realpath(own.dli_fname, nullptr);
        if (!real) return path;
        path = real;
        std::free(real);
        // FOLDER/cutune/emulator/built/LIBRARY
        for (int parts = 4; parts > 0 && !path.empty(); --parts) path.erase(path.rfind('/'));
        return path;
    }();
    return folder;
}

// The interpreter of the environment that holds the package.
std::string python_of_the_package() {
    if (*default_python) return default_python;
    const std::string beside = package_folder() + "/../../../bin/python3";
    return access(beside.c_str(), X_OK) == 0 ? beside : "python3";
}

class Fingerprint {
  public:
    void add(const void* bytes, size_t size) {
        const auto* at = static_cast<const unsigned char*>(bytes);
        for (size_t i = 0; i < size; ++i) {
            first_ = (first_ ^ at[i]) * 0x100000001b3;
            second_ = (second_ + at[i] + 1) * 0x9E3779B97F4A7C15;
            second_ ^= second_ >> 29;
        }
    }
    std::string text() const {
        char digits[33];
        std::snprintf(digits, sizeof digits, "%016llx%016llx", (unsigned long long)first_,
                      (unsigned long long)second_);
        return digits;
    }

  private:
    uint64_t first_ = 0xcbf29ce484222325, second_ = 0;
};

// The folders of the package with what the assembler consists of (tests/unit/ptx/test_front_end.py).
constexpr const char* ASSEMBLER[] = {"core", "emulator", "emulator/lower", "ptx"};

// An image is as good as the assembler that made it: names, sizes and times of its files stand for
// its version, so that neither an upgrade nor an edit meets stale images.
void add_assembler(Fingerprint* key) {
    std::vector<std::string> parts;
    for (const char* const place : ASSEMBLER) {
        const std::string folder = package_folder() + "/cutune/" + place;
        DIR* const open = opendir(folder.c_str());
        if (!open) continue;
        while (const dirent* entry = readdir(open)) {
            const std::string name = entry->d_name;
            struct stat info;
            if (name.size() < 3 || name.compare(name.size() - 3, 3, ".py") != 0) continue;
            if (stat((folder + "/" + name).c_str(), &info) != 0) continue;
            parts.push_back(std::string(place) + "/" + name + ":" + std::to_string(info.st_size) +
                            ":" + std::to_string(info.st_mtim.tv_sec) + "." +
                            std::to_string(info.st_mtim.tv_nsec));
        }
        closedir(open);
    }
    std::sort(parts.begin(), parts.end());
    for (const std::string& part : parts) key->add(part.data(), part.size());
}

// mkdir -p; false when the folder cannot be made.
bool make_folder(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1))
        mkdir(path.substr(0, slash).c_str(), 0755);
    return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

std::string cache_folder() {
    std::string root = environment("XDG_CACHE_HOME");
    if (root.empty()) root = environment("HOME", "/tmp") + "/.cache";
    const std::string wanted = root + "/cutune/modules";
    if (make_folder(wanted) && access(wanted.c_str(), W_OK) == 0) return wanted;
    // No home, or one that cannot be written: a folder of this user's own.
    const std::string own = "/tmp/cutune-" + std::to_string(getuid());
    return make_folder(own) ? own : "/tmp";
}

bool exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

bool write_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + "." + std::to_string(getpid());
    std::ofstream file(temporary, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) {
        unlink(temporary.c_str());
        return false;
    }
    return rename(temporary.c_str(), path.c_str()) == 0;
}

// The program's environment, less what was set to load this library and would reach Python.
std::vector<std::string> assembler_environment() {
    std::vector<std::string> result;
    for (char** entry = environ; *entry; ++entry)
        if (std::strncmp(*entry, "LD_PRELOAD=", 11) != 0 &&
            std::strncmp(*entry, "LD_AUDIT=", 9) != 0 &&
            std::strncmp(*entry, "PYTHONPATH=", 11) != 0 &&
            std::strncmp(*entry, "PYTHONHOME=", 11) != 0)
            result.push_back(*entry);
    result.push_back("PYTHONPATH=" + package_folder());
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(&text[0]);
    result.push_back(nullptr);
    return result;
}

// As cutune/emulator/assemble.py has it.
constexpr int UNSUPPORTED = 3;

// A program that goes on without its kernels prints nonsense: it ends here.
[[noreturn]] void give_up(const std::string& reason) {
    std::fflush(nullptr);
    say("%s", reason.c_str());
    _exit(1);
}

// Run the assembler; its complaints go to the program's stderr. True when it made `image`, false
// where it does not support the PTX.
bool assemble(const std::string& ptx_path, const std::string& image) {
    const std::string python = environment("CUTUNE_PYTHON", python_of_the_package());
    // -P: a file of the working folder must not shadow a module.
    std::vector<std::string> words = {python,   "-P", "-m", "cutune.emulator.assemble",
                                      ptx_path, image};
    std::vector<std::string> settings = assembler_environment();
    pid_t child = 0;
    const int failed = posix_spawnp(&child, python.c_str(), nullptr, nullptr,
                                    pointers(words).data(), pointers(settings).data());
    if (failed != 0) {
        const std::string reason = std::strerror(failed);
        give_up("cannot start '" + python + "' to assemble PTX: " + reason +
                "; set CUTUNE_PYTHON to a Python that has cutune");
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) break;  // the program ignores SIGCHLD: only the file tells
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNSUPPORTED) return false;
    if (status != 0 || !exists(image)) give_up("cutune itself failed: see above");
    return true;
}

}  // namespace

std::string assembled_image(const std::string& ptx, std::string* ptx_path) {
    Fingerprint key;
    key.add(ptx.data(), ptx.size());
    add_assembler(&key);
    const std::string base = cache_folder() + "/" + key.text();
    *ptx_path = base + ".ptx";
    if (!exists(*ptx_path) && !write_file(*ptx_path, ptx))
        give_up("cannot write '" + *ptx_path + "': " + std::strerror(errno));
    const std::string image = base + ".image";
    if (exists(image)) return image;
    const std::string temporary = image + "." + std::to_string(getpid());
    if (!assemble(*ptx_path, temporary)) {
        unlink(temporary.c_str());
        return "";
    }
    // Another process may have made the same image meanwhile: either is good.
    if (rename(temporary.c_str(), image.c_str()) != 0)
        give_up("cannot write '" + image + "': " + std::strerror(errno));
    return image;
}

}  // namespace cutune
