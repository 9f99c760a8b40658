// The replacement of cuRAND's host interface. Each number follows from the seed and its place in
// the sequence, by a hash: the sequences have the distributions of NVIDIA's, and other numbers.
#include <cmath>

#include "library_memory.h"
#include "runtime.h"

struct curandGenerator_st {
    uint64_t seed = 0, next = 0;
    bool is_of_host = false;
    cudaStream_t stream = nullptr;
};

namespace cutune {

namespace {

using Generator = curandGenerator_st*;

enum RandStatus {
    kRandSuccess = 0,
    kRandNotInitialized = 101,
    kRandTypeError = 103,
    kRandOutOfRange = 104,
    kRandLengthNotMultiple = 105,
    kRandLaunchFailure = 201,
    kRandInitializationFailed = 203,
    kRandInternalError = 999,
};
constexpr int kFirstQuasi = 200;
constexpr double kTwoPi = 6.283185307179586;

// SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t number(uint64_t seed, uint64_t place) {
    uint64_t x = (seed * 0xd1342543de82ef95u) ^ (place + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// Above 0, and up to 1, as NVIDIA's.
double uniform(uint64_t seed, uint64_t place) {
    return static_cast<double>((number(seed, place) >> 11) + 1) * 0x1p-53;
}

// Two independent ones share a pair of places (Box and Muller).
double normal(uint64_t seed, uint64_t place) {
    const uint64_t first = place & ~uint64_t{1};
    const double radius = std::sqrt(-2 * std::log(uniform(seed, first)));
    const double angle = kTwoPi * uniform(seed, first + 1);
    return radius * (place & 1 ? std::sin(angle) : std::cos(angle));
}

// By products of uniform numbers, a part of the mean after the other, so that they do not vanish.
unsigned poisson(uint64_t seed, uint64_t place, double mean) {
    constexpr double kPart = 500;
    uint64_t drawn = 0;
    unsigned events = 0;
    for (double rest = mean; rest > 0; rest -= kPart) {
        const double end = std::exp(-std::min(rest, kPart));
        for (double left = 1;;) {
            left *= uniform(number(seed, place), drawn++);
            if (left <= end) break;
            ++events;
        }
    }
    return events;
}

int create(Generator* generator, int type, bool is_of_host) {
    if (!generator) return kRandTypeError;
    if (type >= kFirstQuasi) {
        say_not_emulated("a quasirandom generator of cuRAND");
        return kRandTypeError;
    }
    if (type < 100) return kRandTypeError;
    if (!is_of_host && cudaFree(nullptr) != cudaSuccess) return kRandInitializationFailed;
    *generator = new curandGenerator_st;
    (*generator)->is_of_host = is_of_host;
    return kRandSuccess;
}

// `draw`: a number by its seed and place.
template <class T, class Draw> int generate(Generator generator, T* to, size_t count, Draw draw) {
    if (!generator) return kRandNotInitialized;
    const uint64_t seed = generator->seed, first = generator->next;
    generator->next += count;
    const auto fill = [=](T* values) {
        for (size_t k = 0; k < count; ++k) values[k] = static_cast<T>(draw(seed, first + k));
    };
    if (generator->is_of_host) {
        fill(to);
        return kRandSuccess;
    }
    const bool done = do_on_stream(generator->stream, [=] {
        std::vector<T> values(count);
        fill(values.data());
        const size_t bytes = count * sizeof(T);
        if (bytes) copy_rows(to, bytes, values.data(), bytes, bytes, 1, cudaMemcpyHostToDevice);
    });
    return done ? kRandSuccess : kRandLaunchFailure;
}

template <class T>
int normals(Generator generator, T* to, size_t count, T mean, T deviation, bool is_exponent) {
    if (count % 2 != 0) return kRandLengthNotMultiple;
    return generate(generator, to, count, [=](uint64_t seed, uint64_t place) {
        const double value = mean + deviation * normal(seed, place);
        return is_exponent ? std::exp(value) : value;
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

int curandCreateGenerator(Generator* generator, int type) { return create(generator, type, false); }

int curandCreateGeneratorHost(Generator* generator, int type) {
    return create(generator, type, true);
}

int curandDestroyGenerator(Generator generator) {
    if (!generator) return kRandNotInitialized;
    delete generator;
    return kRandSuccess;
}

int curandGetVersion(int* version) {
    *version = CUDART_VERSION;
    return kRandSuccess;
}

int curandGetProperty(int part, int* value) {
    if (part < 0 || part > 2 || !value) return kRandOutOfRange;
    *value = part == 0 ? 10 : 0;
    return kRandSuccess;
}

int curandSetStream(Generator generator, cudaStream_t stream) {
    if (!generator) return kRandNotInitialized;
    generator->stream = stream;
    return kRandSuccess;
}

int curandSetPseudoRandomGeneratorSeed(Generator generator, unsigned long long seed) {
    if (!generator) return kRandNotInitialized;
    generator->seed = seed;
    generator->next = 0;
    return kRandSuccess;
}

int curandSetGeneratorOffset(Generator generator, unsigned long long offset) {
    if (!generator) return kRandNotInitialized;
    generator->next = offset;
    return kRandSuccess;
}

int curandSetGeneratorOrdering(Generator generator, int) {
    return generator ? kRandSuccess : kRandNotInitialized;
}

int curandGenerateSeeds(Generator generator) {
    return generator ? kRandSuccess : kRandNotInitialized;
}

int curandGenerate(Generator generator, unsigned* to, size_t count) {
    return generate(generator, to, count,
                    [](uint64_t seed, uint64_t place) { return number(seed, place) >> 32; });
}

int curandGenerateLongLong(Generator generator, unsigned long long* to, size_t count) {
    return generate(generator, to, count, number);
}

// The largest number below 1 is rounded to 1 as a float, which is a value of NVIDIA's, too; the
// least one stays above 0.
int curandGenerateUniform(Generator generator, float* to, size_t count) {
    return generate(generator, to, count, uniform);
}

int curandGenerateUniformDouble(Generator generator, double* to, size_t count) {
    return generate(generator, to, count, uniform);
}

int curandGenerateNormal(Generator generator, float* to, size_t count, float mean,
                         float deviation) {
    return normals(generator, to, count, mean, deviation, false);
}

int curandGenerateNormalDouble(Generator generator, double* to, size_t count, double mean,
                               double deviation) {
    return normals(generator, to, count, mean, deviation, false);
}

int curandGenerateLogNormal(Generator generator, float* to, size_t count, float mean,
                            float deviation) {
    return normals(generator, to, count, mean, deviation, true);
}

int curandGenerateLogNormalDouble(Generator generator, double* to, size_t count, double mean,
                                  double deviation) {
    return normals(generator, to, count, mean, deviation, true);
}

int curandGeneratePoisson(Generator generator, unsigned* to, size_t count, double mean) {
    if (!(mean > 0)) return kRandOutOfRange;
    return generate(generator, to, count, [=](uint64_t seed, uint64_t place) {
        return poisson(seed, place, mean);
    });
}

// Functions that are not emulated end here (see link.py).
int cutune_unsupported_rand_call(const char* name) {
    say_not_emulated(name);
    return kRandInternalError;
}

}  // extern "C"
