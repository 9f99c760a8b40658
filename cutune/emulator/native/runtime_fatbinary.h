// Reads what nvcc embeds in a program: takes a fat binary container, gives the text of its PTX.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cutune {

struct FatBinary {
    std::string ptx;                     // empty when there is none that can be read
    unsigned architecture = 0;           // 80 for compute_80
    std::vector<unsigned> machine_code;  // architectures of which there is only machine code
    std::string problem;                 // why `ptx` is empty
};

// `bytes` may be read of it; of what lies in a program only its own header tells.
FatBinary read_fat_binary(const void* container, size_t bytes = SIZE_MAX);

}  // namespace cutune
