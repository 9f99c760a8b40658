// cuFFT: plans, where their elements lie, and transforms along each dimension. All is computed in
// double precision, so that results differ from NVIDIA's in the last bits. No work area is needed.
#include <map>
#include <mutex>
#include <type_traits>

#include "library_memory.h"
#include "library_transform.h"
#include "runtime.h"

namespace cutune {

namespace {

enum FftResult {
    kFftSuccess = 0,
    kFftInvalidPlan = 1,
    kFftInvalidType = 3,
    kFftInvalidValue = 4,
    kFftExecutionFailed = 6,
    kFftSetupFailed = 7,
    kFftInvalidSize = 8,
    kFftNotSupported = 16,
};
enum Precision { kSingle = 0, kDoubled = 1, kHalved = 2, kBrain = 14 };  // as cudaDataType has them
enum Reals { kNoReals, kRealInput, kRealOutput };
constexpr int kForward = -1, kInverse = 1;

struct Kind {
    int precision;
    Reals reals;
    bool operator==(const Kind& other) const {
        return precision == other.precision && reals == other.reals;
    }
};

// Of one side of a plan: the extents of the array that holds each transform, the distances of
// neighbours and of transforms.
struct Side {
    std::vector<int64_t> embedding;
    int64_t stride = 1, distance = 0;
};

struct Plan {
    std::vector<int64_t> sizes;  // empty until the plan is made
    Kind kind{};
    int64_t batch = 1;
    bool is_packed = true;  // the sides are as NVIDIA's defaults are
    Side input, output;
    cudaStream_t stream = nullptr;
};

// Two numbers of 16 bits.
template <class Encoding> struct ShortComplex {
    ShortNumber<Encoding> real, imaginary;
    ShortComplex() = default;
    explicit ShortComplex(const Value& value) : real(value.real()), imaginary(value.imag()) {}
    explicit operator Value() const { return {double(real), double(imaginary)}; }
};

template <class T> struct ComplexOf { using type = std::complex<T>; };
template <class Encoding> struct ComplexOf<ShortNumber<Encoding>> {
    using type = ShortComplex<Encoding>;
};

inline double widened(float value) { return value; }
inline double widened(double value) { return value; }
template <class T> Value widened(const std::complex<T>& value) { return Value(value); }
template <class Encoding> double widened(ShortNumber<Encoding> value) { return double(value); }
template <class Encoding> Value widened(ShortComplex<Encoding> value) { return Value(value); }

template <class T> constexpr bool kIsReal = std::is_same<decltype(widened(T())), double>::value;

template <class T> T narrowed(const Value& value) {
    if constexpr (kIsReal<T>)
        return T(value.real());
    else
        return T(value);
}

// Where the elements of one side lie, transform after transform, row after row.
struct Layout {
    std::vector<int64_t> counts, steps;  // of transforms, then by dimension

    size_t count() const {
        int64_t found = 1;
        for (const int64_t each : counts) found *= each;
        return static_cast<size_t>(found);
    }
    // From the first element to the last one.
    size_t extent() const {
        int64_t last = 0;
        for (size_t d = 0; d < counts.size(); ++d) last += (counts[d] - 1) * steps[d];
        return static_cast<size_t>(last + 1);
    }
    template <class Use> void each(Use use, size_t dimension = 0, int64_t place = 0) const {
        if (dimension == counts.size()) return use(static_cast<size_t>(place));
        for (int64_t k = 0; k < counts[dimension]; ++k)
            each(use, dimension + 1, place + k * steps[dimension]);
    }
};

int64_t half(int64_t n) { return n / 2 + 1; }

// `is_in_place`: rows of real numbers then have room for the complex ones.
Layout layout(const Plan& plan, bool is_input, bool is_in_place) {
    const bool is_real = plan.kind.reals == (is_input ? kRealInput : kRealOutput);
    const size_t rank = plan.sizes.size();
    const Side& given = is_input ? plan.input : plan.output;
    Layout found{{plan.batch}, std::vector<int64_t>(rank + 1)};
    found.counts.insert(found.counts.end(), plan.sizes.begin(), plan.sizes.end());
    if (plan.kind.reals != kNoReals && !is_real) found.counts.back() = half(plan.sizes.back());
    int64_t step = plan.is_packed ? 1 : given.stride;
    for (size_t d = rank; d > 0; --d) {
        found.steps[d] = step;
        if (!plan.is_packed)
            step *= given.embedding[d - 1];
        else
            step *= d == rank && is_real && is_in_place ? 2 * half(plan.sizes.back())
                                                        : found.counts[d];
    }
    found.steps[0] = plan.is_packed ? step : given.distance;
    return found;
}

template <class T> std::vector<T> read_extent(const T* from, const Layout& layout) {
    std::vector<T> raw(layout.extent());
    const size_t bytes = raw.size() * sizeof(T);
    copy_rows(raw.data(), bytes, from, bytes, bytes, 1, cudaMemcpyDeviceToHost);
    return raw;
}

template <class T> Values read(const T* from, const Layout& layout) {
    const auto raw = read_extent(from, layout);
    Values found;
    found.reserve(layout.count());
    layout.each([&](size_t place) { found.push_back(widened(raw[place])); });
    return found;
}

// What lies between the elements stays.
template <class T> void write(T* to, const Layout& layout, const Values& values) {
    std::vector<T> raw(layout.extent());
    if (layout.count() != raw.size()) raw = read_extent(to, layout);
    auto next = values.begin();
    layout.each([&](size_t place) { raw[place] = narrowed<T>(*next++); });
    const size_t bytes = raw.size() * sizeof(T);
    copy_rows(to, bytes, raw.data(), bytes, bytes, 1, cudaMemcpyHostToDevice);
}

// Along one of the dimensions.
void transform(Values* values, const std::vector<int64_t>& counts, size_t dimension, int sign) {
    const auto n = static_cast<size_t>(counts[dimension]);
    size_t step = 1;
    for (size_t d = dimension + 1; d < counts.size(); ++d) step *= static_cast<size_t>(counts[d]);
    const Transform along(n, sign);
    Values line(n), result(n);
    for (size_t first = 0; first < values->size(); first += n * step)
        for (size_t inner = first; inner < first + step; ++inner) {
            for (size_t k = 0; k < n; ++k) line[k] = (*values)[inner + k * step];
            along.run(line.data(), result.data());
            for (size_t k = 0; k < n; ++k) (*values)[inner + k * step] = result[k];
        }
}

// Of rows that real numbers gave, the half that tells the other one; and back.
Values halves(const Values& rows, size_t n) {
    Values found;
    for (size_t first = 0; first < rows.size(); first += n)
        found.insert(found.end(), &rows[first], &rows[first] + n / 2 + 1);
    return found;
}

Values completed(const Values& rows, size_t n) {
    Values found;
    for (size_t first = 0; first < rows.size(); first += n / 2 + 1)
        for (size_t k = 0; k < n; ++k)
            found.push_back(k <= n / 2 ? rows[first + k] : std::conj(rows[first + n - k]));
    return found;
}

template <class In, class Out> void execute(const Plan& plan, const In* in, Out* out, int sign) {
    const bool is_in_place = static_cast<const void*>(in) == static_cast<const void*>(out);
    const Layout from = layout(plan, true, is_in_place), to = layout(plan, false, is_in_place);
    auto counts = from.counts;
    const size_t last = plan.sizes.size();
    const auto n = static_cast<size_t>(plan.sizes.back());
    Values values = read(in, from);
    if (kIsReal<In>) {
        transform(&values, counts, last, sign);
        values = halves(values, n);
        counts = to.counts;
    }
    for (size_t d = 1; d < last; ++d) transform(&values, counts, d, sign);
    if (kIsReal<Out>) values = completed(values, n);
    if (!kIsReal<In>) transform(&values, to.counts, last, sign);
    write(out, to, values);
}

template <class Real> void execute_in(const Plan& plan, const void* in, void* out, int sign) {
    using Complex = typename ComplexOf<Real>::type;
    const auto *real = static_cast<const Real*>(in);
    const auto *complex = static_cast<const Complex*>(in);
    switch (plan.kind.reals) {
        case kNoReals: return execute(plan, complex, static_cast<Complex*>(out), sign);
        case kRealInput: return execute(plan, real, static_cast<Complex*>(out), kForward);
        case kRealOutput: return execute(plan, complex, static_cast<Real*>(out), kInverse);
    }
}

void execute_any(const Plan& plan, const void* in, void* out, int sign) {
    switch (plan.kind.precision) {
        case kSingle: return execute_in<float>(plan, in, out, sign);
        case kDoubled: return execute_in<double>(plan, in, out, sign);
        case kHalved: return execute_in<ShortNumber<Half>>(plan, in, out, sign);
        case kBrain: return execute_in<ShortNumber<Brain>>(plan, in, out, sign);
    }
}

// By cufftType; false: there is no such one.
bool find_kind(int type, Kind* kind) {
    switch (type) {
        case 0x29: *kind = {kSingle, kNoReals}; return true;
        case 0x2a: *kind = {kSingle, kRealInput}; return true;
        case 0x2c: *kind = {kSingle, kRealOutput}; return true;
        case 0x69: *kind = {kDoubled, kNoReals}; return true;
        case 0x6a: *kind = {kDoubled, kRealInput}; return true;
        case 0x6c: *kind = {kDoubled, kRealOutput}; return true;
        default: return false;
    }
}

// By the cudaDataType of either side.
bool find_kind(int input, int output, Kind* kind) {
    for (const int precision : {kSingle, kDoubled, kHalved, kBrain}) {
        const int complex = precision == kBrain ? 15 : precision + 4;
        const bool is_real_input = input == precision, is_real_output = output == precision;
        if ((!is_real_input && input != complex) || (!is_real_output && output != complex) ||
            (is_real_input && is_real_output))
            continue;
        *kind = {precision, is_real_input ? kRealInput : is_real_output ? kRealOutput : kNoReals};
        return true;
    }
    return false;
}

std::mutex plans_mutex;
std::map<int, Plan> plans;
int last_handle = 0;

// The plan of a handle, or nullptr. Others may be made meanwhile, it stays where it is.
Plan* find(int handle) {
    const std::lock_guard<std::mutex> lock(plans_mutex);
    const auto found = plans.find(handle);
    return found == plans.end() ? nullptr : &found->second;
}

int create(int* handle) {
    if (!handle) return kFftInvalidValue;
    if (cudaFree(nullptr) != cudaSuccess) return kFftSetupFailed;
    const std::lock_guard<std::mutex> lock(plans_mutex);
    *handle = ++last_handle;
    plans[*handle];
    return kFftSuccess;
}

int destroy(int handle) {
    const std::lock_guard<std::mutex> lock(plans_mutex);
    return plans.erase(handle) ? kFftSuccess : kFftInvalidPlan;
}

int with_plan(int handle) { return find(handle) ? kFftSuccess : kFftInvalidPlan; }

int give_size(size_t* bytes) {
    if (!bytes) return kFftInvalidValue;
    *bytes = 0;
    return kFftSuccess;
}

// What is asked of a plan, but for its kind. Where an embedding is null, all of them are NVIDIA's.
template <class Size>
int describe(int rank, const Size* sizes, const Size* in, Size in_stride, Size in_distance,
             const Size* out, Size out_stride, Size out_distance, Size batch, Plan* plan) {
    if (rank < 1 || rank > 3 || !sizes) return kFftInvalidValue;
    plan->sizes.assign(sizes, sizes + rank);
    plan->batch = batch;
    plan->is_packed = !in || !out;
    if (!plan->is_packed) {
        plan->input = {{in, in + rank}, in_stride, in_distance};
        plan->output = {{out, out + rank}, out_stride, out_distance};
        if (in_stride < 1 || out_stride < 1 || in_distance < 0 || out_distance < 0)
            return kFftInvalidValue;
    }
    for (const int64_t each : plan->sizes)
        if (each < 1) return kFftInvalidSize;
    return batch < 1 ? kFftInvalidSize : kFftSuccess;
}

int make(int handle, int described, const Plan& plan, size_t* bytes) {
    Plan* const found = find(handle);
    if (!found || !found->sizes.empty()) return kFftInvalidPlan;
    if (described != kFftSuccess) return described;
    const cudaStream_t stream = found->stream;
    *found = plan;
    found->stream = stream;
    return bytes ? give_size(bytes) : kFftSuccess;
}

template <class Size>
int make_many(int handle, int rank, const Size* sizes, const Size* in, Size in_stride,
              Size in_distance, const Size* out, Size out_stride, Size out_distance, int type,
              Size batch, size_t* bytes) {
    Plan plan;
    if (!find_kind(type, &plan.kind)) return kFftInvalidType;
    const int described = describe(rank, sizes, in, in_stride, in_distance, out, out_stride,
                                   out_distance, batch, &plan);
    return make(handle, described, plan, bytes);
}

int make_packed(int handle, std::initializer_list<int> sizes, int type, int batch, size_t* bytes) {
    const int* const none = nullptr;
    return make_many(handle, static_cast<int>(sizes.size()), sizes.begin(), none, 1, 0, none, 1, 0,
                     type, batch, bytes);
}

// A new plan, which `making` makes.
template <class Making> int plan_new(int* handle, Making making) {
    int result = create(handle);
    if (result != kFftSuccess) return result;
    result = making(*handle);
    if (result != kFftSuccess) destroy(*handle);
    return result;
}

int execute(int handle, const void* in, void* out, int sign) {
    const Plan* const found = find(handle);
    if (!found || found->sizes.empty()) return kFftInvalidPlan;
    const bool has_sign = sign == kForward || sign == kInverse;
    if (!in || !out || (!has_sign && found->kind.reals == kNoReals)) return kFftInvalidValue;
    const Plan plan = *found;
    const bool done = do_on_stream(plan.stream, [=] { execute_any(plan, in, out, sign); });
    return done ? kFftSuccess : kFftExecutionFailed;
}

// The same for who says what the plan is of.
int execute_kind(int handle, Kind kind, const void* in, void* out, int sign) {
    const Plan* const found = find(handle);
    return found && found->kind == kind ? execute(handle, in, out, sign) : kFftInvalidPlan;
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

int cufftCreate(int* handle) { return create(handle); }
int cufftDestroy(int handle) { return destroy(handle); }

int cufftPlan1d(int* handle, int n, int type, int batch) {
    return plan_new(handle, [=](int made) { return make_packed(made, {n}, type, batch, nullptr); });
}

int cufftPlan2d(int* handle, int n0, int n1, int type) {
    return plan_new(handle,
                    [=](int made) { return make_packed(made, {n0, n1}, type, 1, nullptr); });
}

int cufftPlan3d(int* handle, int n0, int n1, int n2, int type) {
    return plan_new(handle,
                    [=](int made) { return make_packed(made, {n0, n1, n2}, type, 1, nullptr); });
}

int cufftMakePlan1d(int handle, int n, int type, int batch, size_t* bytes) {
    return make_packed(handle, {n}, type, batch, bytes);
}

int cufftMakePlan2d(int handle, int n0, int n1, int type, size_t* bytes) {
    return make_packed(handle, {n0, n1}, type, 1, bytes);
}

int cufftMakePlan3d(int handle, int n0, int n1, int n2, int type, size_t* bytes) {
    return make_packed(handle, {n0, n1, n2}, type, 1, bytes);
}

int cufftMakePlanMany(int handle, int rank, int* sizes, int* in, int in_stride, int in_distance,
                      int* out, int out_stride, int out_distance, int type, int batch,
                      size_t* bytes) {
    return make_many<int>(handle, rank, sizes, in, in_stride, in_distance, out, out_stride,
                          out_distance, type, batch, bytes);
}

int cufftMakePlanMany64(int handle, int rank, long long* sizes, long long* in, long long in_stride,
                        long long in_distance, long long* out, long long out_stride,
                        long long out_distance, int type, long long batch, size_t* bytes) {
    return make_many<long long>(handle, rank, sizes, in, in_stride, in_distance, out, out_stride,
                                out_distance, type, batch, bytes);
}

int cufftPlanMany(int* handle, int rank, int* sizes, int* in, int in_stride, int in_distance,
                  int* out, int out_stride, int out_distance, int type, int batch) {
    return plan_new(handle, [=](int made) {
        return cufftMakePlanMany(made, rank, sizes, in, in_stride, in_distance, out, out_stride,
                                 out_distance, type, batch, nullptr);
    });
}

int cufftXtMakePlanMany(int handle, int rank, long long* sizes, long long* in, long long in_stride,
                        long long in_distance, int input, long long* out, long long out_stride,
                        long long out_distance, int output, long long batch, size_t* bytes, int) {
    Plan plan;
    if (!find_kind(input, output, &plan.kind)) return kFftInvalidType;
    const int described = describe<long long>(rank, sizes, in, in_stride, in_distance, out,
                                              out_stride, out_distance, batch, &plan);
    return make(handle, described, plan, bytes);
}

int cufftEstimate1d(int, int, int, size_t* bytes) { return give_size(bytes); }
int cufftEstimate2d(int, int, int, size_t* bytes) { return give_size(bytes); }
int cufftEstimate3d(int, int, int, int, size_t* bytes) { return give_size(bytes); }
int cufftEstimateMany(int, int*, int*, int, int, int*, int, int, int, int, size_t* bytes) {
    return give_size(bytes);
}

int cufftGetSize(int, size_t* bytes) { return give_size(bytes); }
int cufftGetSize1d(int, int, int, int, size_t* bytes) { return give_size(bytes); }
int cufftGetSize2d(int, int, int, int, size_t* bytes) { return give_size(bytes); }
int cufftGetSize3d(int, int, int, int, int, size_t* bytes) { return give_size(bytes); }
int cufftGetSizeMany(int, int, int*, int*, int, int, int*, int, int, int, int, size_t* bytes) {
    return give_size(bytes);
}
int cufftGetSizeMany64(int, int, long long*, long long*, long long, long long, long long*,
                       long long, long long, int, long long, size_t* bytes) {
    return give_size(bytes);
}
int cufftXtGetSizeMany(int, int, long long*, long long*, long long, long long, int, long long*,
                       long long, long long, int, long long, size_t* bytes, int) {
    return give_size(bytes);
}

int cufftSetWorkArea(int handle, void*) { return with_plan(handle); }
int cufftSetAutoAllocation(int handle, int) { return with_plan(handle); }
int cufftXtSetWorkAreaPolicy(int handle, int, size_t* bytes) {
    return bytes && with_plan(handle) == kFftSuccess ? give_size(bytes) : with_plan(handle);
}

int cufftSetStream(int handle, cudaStream_t stream) {
    Plan* const found = find(handle);
    if (!found) return kFftInvalidPlan;
    found->stream = stream;
    return kFftSuccess;
}

int cufftExecC2C(int handle, void* in, void* out, int sign) {
    return execute_kind(handle, {kSingle, kNoReals}, in, out, sign);
}
int cufftExecZ2Z(int handle, void* in, void* out, int sign) {
    return execute_kind(handle, {kDoubled, kNoReals}, in, out, sign);
}
int cufftExecR2C(int handle, void* in, void* out) {
    return execute_kind(handle, {kSingle, kRealInput}, in, out, kForward);
}
int cufftExecD2Z(int handle, void* in, void* out) {
    return execute_kind(handle, {kDoubled, kRealInput}, in, out, kForward);
}
int cufftExecC2R(int handle, void* in, void* out) {
    return execute_kind(handle, {kSingle, kRealOutput}, in, out, kInverse);
}
int cufftExecZ2D(int handle, void* in, void* out) {
    return execute_kind(handle, {kDoubled, kRealOutput}, in, out, kInverse);
}
int cufftXtExec(int handle, void* in, void* out, int sign) {
    return execute(handle, in, out, sign);
}

// That of the toolkit, less one.
int cufftGetVersion(int* version) {
    *version = (CUDART_VERSION / 1000 - 1) * 1000;
    return kFftSuccess;
}

int cufftGetProperty(int part, int* value) {
    if (part < 0 || part > 2 || !value) return kFftInvalidValue;
    *value = part == 0 ? CUDART_VERSION / 1000 - 1 : 0;
    return kFftSuccess;
}

// Functions that are not emulated end here (see link.py).
int cutune_unsupported_fft_call(const char* name) {
    say_not_emulated(name);
    return kFftNotSupported;
}

}  // extern "C"
