// cuBLASLt: products of matrices by their descriptions, with what is done to each element after.
#include <cmath>
#include <cstring>

#include "library_typed.h"

namespace cutune {

namespace {

// In the room that NVIDIA's headers give for them.
struct Product {
    int compute, scale, pointer_mode, of_a, of_b, type_of_bias;
    unsigned epilogue;
    const void* bias;
    void* before;  // where what an activation takes is kept
    int64_t leading_before;
};
struct Layout {
    int type, order;
    int64_t rows, columns, leading, stride;
    int count;
};
struct Preference {
    uint64_t data[8];
};
static_assert(sizeof(Product) <= 256 && sizeof(Layout) <= 64, "as large as NVIDIA's");

struct Heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

enum ProductAttribute {
    kCompute, kScale, kPointerMode, kOfA, kOfB, kOfC, kFillMode, kEpilogue, kBias, kBefore = 11,
    kLeadingBefore = 12, kProcessors = 15, kFastSums = 25, kTypeOfBias = 26
};
enum LayoutAttribute { kType, kOrder, kRows, kColumns, kLeading, kCount, kStride };
enum Epilogue { kNothing = 1, kRelu = 2, kAddBias = 4, kGelu = 32, kKeepBefore = 128 };
constexpr int kRowOrder = 1;

template <class Field> int set(Field* field, const void* from, size_t bytes) {
    if (!from || bytes < sizeof *field) return kBlasInvalidValue;
    std::memcpy(field, from, sizeof *field);
    return kBlasSuccess;
}

template <class Field> int get(const Field& field, void* to, size_t bytes, size_t* written) {
    if (written) *written = sizeof field;
    if (!to || bytes < sizeof field) return kBlasInvalidValue;
    std::memcpy(to, &field, sizeof field);
    return kBlasSuccess;
}

// Calls `use` with the field of an attribute; a status.
template <class Use> int with_field(Product* product, int attribute, Use use) {
    switch (attribute) {
        case kCompute: return use(product->compute);
        case kScale: return use(product->scale);
        case kPointerMode: return use(product->pointer_mode);
        case kOfA: return use(product->of_a);
        case kOfB: return use(product->of_b);
        case kEpilogue: return use(product->epilogue);
        case kBias: return use(product->bias);
        case kBefore: return use(product->before);
        case kLeadingBefore: return use(product->leading_before);
        case kTypeOfBias: return use(product->type_of_bias);
        case kProcessors: case kFastSums: return kBlasSuccess;
        default:
            say_not_emulated("attribute " + std::to_string(attribute) + " of a cublasLtMatmulDesc");
            return kBlasNotSupported;
    }
}

template <class Use> int with_field(Layout* layout, int attribute, Use use) {
    switch (attribute) {
        case kType: return use(layout->type);
        case kOrder: return use(layout->order);
        case kRows: return use(layout->rows);
        case kColumns: return use(layout->columns);
        case kLeading: return use(layout->leading);
        case kCount: return use(layout->count);
        case kStride: return use(layout->stride);
        default:
            say_not_emulated("attribute " + std::to_string(attribute) + " of a matrix of cuBLASLt");
            return kBlasNotSupported;
    }
}

const void* at(const void* from, const Layout& layout, int64_t each) {
    size_t bytes = 0;
    with_type(layout.type, [&](auto element) { bytes = sizeof element; });
    return static_cast<const char*>(from) + each * layout.stride * static_cast<int64_t>(bytes);
}

// A matrix as it is written down, or transposed.
Matrix<double> read_layout(const Layout& layout, const void* from, bool is_transposed) {
    const bool by_rows = layout.order == kRowOrder;
    const int64_t rows = by_rows ? layout.columns : layout.rows;
    const int64_t columns = by_rows ? layout.rows : layout.columns;
    auto found = read_typed(layout.type, kPlain, from, rows, columns, layout.leading);
    return by_rows == is_transposed ? found : transposed(found, false);
}

void write_layout(const Layout& layout, const void* to, Matrix<double> values) {
    if (layout.order == kRowOrder) values = transposed(values, false);
    with_type(layout.type, [&](auto element) {
        using T = decltype(element);
        write_matrix(static_cast<T*>(const_cast<void*>(to)), layout.leading, values);
    });
}

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// What is done to each element of the sum, a column after the other.
void finish(const Product& product, const Layout& layout, int64_t each, Matrix<double>* sum) {
    if (product.epilogue & kAddBias) {
        const int type = product.type_of_bias < 0 ? layout.type : product.type_of_bias;
        const auto bias = read_typed(type, kPlain, product.bias, sum->rows, 1, sum->rows);
        for (int64_t j = 0; j < sum->columns; ++j)
            for (int64_t i = 0; i < sum->rows; ++i) (*sum)(i, j) += bias(i, 0);
    }
    if (product.epilogue & kKeepBefore) {
        Layout kept = layout;
        kept.leading = product.leading_before;
        kept.stride = product.leading_before * layout.columns;
        write_layout(kept, at(product.before, kept, each), *sum);
    }
    for (double& value : sum->values) {
        if (product.epilogue & kRelu) value = std::max(0.0, value);
        if (product.epilogue & kGelu) value = gelu(value);
    }
}

bool is_known(const Product& product, std::initializer_list<Layout> layouts) {
    bool known = !(product.epilogue & ~(kNothing | kRelu | kAddBias | kGelu | kKeepBefore)) &&
                 product.pointer_mode < 2 &&
                 // Of a rectifier the signs are kept, not what it takes.
                 !(product.epilogue & kRelu && product.epilogue & kKeepBefore);
    for (const Layout& layout : layouts)
        known = known && layout.order <= kRowOrder && with_type(layout.type, [](auto) {});
    return known;
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

int cublasLtCreate(BlasHandle* handle) { return cublasCreate_v2(handle); }
int cublasLtDestroy(BlasHandle handle) { return cublasDestroy_v2(handle); }
size_t cublasLtGetVersion() { return CUDART_VERSION / 1000 * 10000; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }

int cublasLtMatmulDescInit_internal(Product* product, size_t, int compute, int scale) {
    *product = {compute, scale, 0, kPlain, kPlain, -1, kNothing, nullptr, nullptr, 0};
    return kBlasSuccess;
}

int cublasLtMatmulDescCreate(Product** product, int compute, int scale) {
    *product = new Product;
    return cublasLtMatmulDescInit_internal(*product, sizeof **product, compute, scale);
}

int cublasLtMatmulDescDestroy(Product* product) {
    delete product;
    return kBlasSuccess;
}

int cublasLtMatmulDescSetAttribute(Product* product, int attribute, const void* from,
                                   size_t bytes) {
    return with_field(product, attribute, [=](auto& field) { return set(&field, from, bytes); });
}

int cublasLtMatmulDescGetAttribute(Product* product, int attribute, void* to, size_t bytes,
                                   size_t* written) {
    return with_field(product, attribute,
                      [=](auto& field) { return get(field, to, bytes, written); });
}

int cublasLtMatrixLayoutInit_internal(Layout* layout, size_t, int type, uint64_t rows,
                                      uint64_t columns, int64_t leading) {
    *layout = {type, 0, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading, 0, 1};
    return kBlasSuccess;
}

int cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
    *layout = new Layout;
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns,
                                             leading);
}

int cublasLtMatrixLayoutDestroy(Layout* layout) {
    delete layout;
    return kBlasSuccess;
}

int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* from,
                                     size_t bytes) {
    return with_field(layout, attribute, [=](auto& field) { return set(&field, from, bytes); });
}

int cublasLtMatrixLayoutGetAttribute(Layout* layout, int attribute, void* to, size_t bytes,
                                     size_t* written) {
    return with_field(layout, attribute,
                      [=](auto& field) { return get(field, to, bytes, written); });
}

int cublasLtMatmulPreferenceInit_internal(Preference* preference, size_t) {
    *preference = Preference();
    return kBlasSuccess;
}

int cublasLtMatmulPreferenceCreate(Preference** preference) {
    *preference = new Preference();
    return kBlasSuccess;
}

int cublasLtMatmulPreferenceDestroy(Preference* preference) {
    delete preference;
    return kBlasSuccess;
}

int cublasLtMatmulPreferenceSetAttribute(Preference*, int, const void*, size_t) {
    return kBlasSuccess;
}

// There is one way.
int cublasLtMatmulAlgoGetHeuristic(BlasHandle, Product* product, Layout* a, Layout* b, Layout* c,
                                   Layout* d, Preference*, int asked, Heuristic* found,
                                   int* count) {
    if (asked < 1 || !found || !count) return kBlasInvalidValue;
    *count = is_known(*product, {*a, *b, *c, *d});
    *found = Heuristic();
    return *count ? kBlasSuccess : kBlasNotSupported;
}

int cublasLtMatmul(BlasHandle handle, Product* described, const void* alpha, const void* a,
                   Layout* of_a, const void* b, Layout* of_b, const void* beta, const void* c,
                   Layout* of_c, void* d, Layout* of_d, const void*, void*, size_t,
                   cudaStream_t stream) {
    if (!handle) return kBlasNotInitialized;
    const Product product = *described;
    const Layout la = *of_a, lb = *of_b, lc = *of_c, ld = *of_d;
    if (!is_known(product, {la, lb, lc, ld})) {
        say_not_emulated("a product of cuBLASLt with types, orders or an epilogue like these");
        return kBlasNotSupported;
    }
    const bool is_on_device = product.pointer_mode != 0;
    const TypedScalar factor(product.scale, alpha, is_on_device);
    const TypedScalar kept(product.scale, beta, is_on_device);
    const bool done = do_on_stream(stream, [=] {
        const double by = factor.get(), rest = kept.get();
        for (int64_t each = 0; each < ld.count; ++each) {
            auto sum = cutune::product(read_layout(la, at(a, la, each), product.of_a != kPlain),
                                       read_layout(lb, at(b, lb, each), product.of_b != kPlain));
            for (double& value : sum.values) value *= by;
            if (rest != 0) {
                const auto before = read_layout(lc, at(c, lc, each), false);
                for (size_t k = 0; k < sum.values.size(); ++k)
                    sum.values[k] += rest * before.values[k];
            }
            finish(product, ld, each, &sum);
            write_layout(ld, at(d, ld, each), sum);
        }
    });
    return done ? kBlasSuccess : kBlasFailed;
}

}  // extern "C"
