// Fat binary containers as CUDA 11.8 to 13 write them. The layout was found by looking at nvcc's
// output: a 16-byte container header (magic, version, header size, bytes that follow), then images,
// each with a header of its own.
#include "runtime_fatbinary.h"

#include <dlfcn.h>

#include <cstring>

namespace cutune {

namespace {

constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kPtxImage = 1;
constexpr uint64_t kLz4Flag = 0x2000;
constexpr uint64_t kZstdFlag = 0x8000;
constexpr uint64_t kMostPlainBytes = 1 << 30;
constexpr const char* kDamaged = "its fat binary is damaged";

struct ContainerHeader {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t payload_bytes;
};

struct ImageHeader {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;
    uint64_t stored_bytes;  // with padding
    uint32_t compressed_bytes;
    uint32_t reserved0;
    uint16_t minor, major;
    uint32_t architecture;
    uint32_t name_offset, name_bytes;
    uint64_t flags;
    uint64_t reserved1;
    uint64_t plain_bytes;
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(ImageHeader) == 64, "as nvcc writes them");

// One LZ4 block: (token, literals, match) triples. False when the bytes are not one.
bool inflate_lz4(const uint8_t* in, size_t in_bytes, std::string* text) {
    const uint8_t* const end = in + in_bytes;
    const size_t wanted = text->size();
    size_t out = 0;
    const auto length = [&](size_t value) {
        if (value < 15) return value;
        while (in < end) {
            const uint8_t more = *in++;
            value += more;
            if (more != 255) break;
        }
        return value;
    };
    while (in < end) {
        const uint8_t token = *in++;
        const size_t literals = length(token >> 4);
        if (literals > static_cast<size_t>(end - in) || literals > wanted - out) return false;
        std::memcpy(&(*text)[out], in, literals);
        in += literals;
        out += literals;
        if (end - in < 2) break;  // the last triple has no match
        const size_t distance = in[0] | in[1] << 8;
        in += 2;
        const size_t match = length(token & 15) + 4;
        if (distance == 0 || distance > out || match > wanted - out) return false;
        for (size_t i = 0; i < match; ++i, ++out) (*text)[out] = (*text)[out - distance];
    }
    text->resize(out);
    return true;
}

// False when libzstd is missing or the bytes are damaged; `problem` says which.
bool inflate_zstd(const uint8_t* in, size_t in_bytes, std::string* text, std::string* problem) {
    using Decompress = size_t (*)(void*, size_t, const void*, size_t);
    static void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    static const auto decompress =
        library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
    if (!decompress) {
        *problem = "its PTX is compressed and libzstd.so.1 is not installed";
        return false;
    }
    const size_t got = decompress(&(*text)[0], text->size(), in, in_bytes);
    if (got > text->size()) {
        *problem = "its compressed PTX is damaged";
        return false;
    }
    text->resize(got);
    return true;
}

std::string ptx_text(const ImageHeader& header, const uint8_t* payload, std::string* problem) {
    if (!(header.flags & (kLz4Flag | kZstdFlag)) || header.compressed_bytes == 0) {
        const char* const text = reinterpret_cast<const char*>(payload);
        return std::string(text, strnlen(text, header.stored_bytes));
    }
    if (header.compressed_bytes > header.stored_bytes || header.plain_bytes > kMostPlainBytes) {
        *problem = kDamaged;
        return "";
    }
    std::string text(header.plain_bytes, '\0');
    if (header.flags & kZstdFlag) {
        if (!inflate_zstd(payload, header.compressed_bytes, &text, problem)) return "";
    } else if (!inflate_lz4(payload, header.compressed_bytes, &text)) {
        *problem = "its compressed PTX is damaged";
        return "";
    }
    return text.substr(0, strnlen(text.data(), text.size()));
}

// The machine executes what compute_80 offers: that image if there is one, else the newest below,
// else the oldest above (whose newer instructions it then refuses by name).
bool better(unsigned candidate, unsigned best) {
    if (best == 0) return true;
    if (candidate <= 80) return best > 80 || candidate > best;
    return best > 80 && candidate < best;
}

}  // namespace

FatBinary read_fat_binary(const void* container, size_t bytes) {
    FatBinary found;
    ContainerHeader head = {};
    if (bytes >= sizeof head) std::memcpy(&head, container, sizeof head);
    if (head.magic != kMagic) {
        found.problem = "its fat binary has an unknown form";
        return found;
    }
    const uint8_t* at = static_cast<const uint8_t*>(container) + head.header_bytes;
    uint64_t left = head.payload_bytes;
    if (head.header_bytes > bytes || left > bytes - head.header_bytes) {
        found.problem = kDamaged;
        return found;
    }
    while (left >= sizeof(ImageHeader)) {
        ImageHeader header;
        std::memcpy(&header, at, sizeof header);
        if (header.header_bytes < sizeof header || header.header_bytes > left ||
            header.stored_bytes > left - header.header_bytes) {
            found.problem = kDamaged;
            break;
        }
        const uint8_t* const payload = at + header.header_bytes;
        if (header.kind != kPtxImage) {
            found.machine_code.push_back(header.architecture);
        } else if (better(header.architecture, found.architecture)) {
            const std::string text = ptx_text(header, payload, &found.problem);
            if (!text.empty()) {
                found.ptx = text;
                found.architecture = header.architecture;
            }
        }
        at = payload + header.stored_bytes;
        left -= header.header_bytes + header.stored_bytes;
    }
    if (found.ptx.empty() && found.problem.empty()) {
        found.problem = "it was built without PTX";
        for (const unsigned& each : found.machine_code)
            found.problem += (&each == &found.machine_code[0] ? ", only for sm_" : ", sm_") +
                             std::to_string(each);
    }
    return found;
}

}  // namespace cutune
