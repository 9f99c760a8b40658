// What the test programs share: a check that ends the program with its line.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                    \
    do {                                                                      \
        if (!(condition)) {                                                   \
            std::printf("%s:%d: FAIL: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                     \
        }                                                                     \
    } while (0)
#define SUCCEED(call) REQUIRE((call) == cudaSuccess)
#define EXPECT(error, call)                                                      \
    do {                                                                         \
        const cudaError_t got = (call);                                          \
        if (got != (error)) {                                                    \
            std::printf("%s:%d: FAIL: %s gives %s\n", __FILE__, __LINE__, #call, \
                        cudaGetErrorName(got));                                  \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

inline int pass() {
    std::printf("PASS\n");
    return 0;
}
