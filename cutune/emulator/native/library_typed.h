// Elements whose type a number tells (cudaDataType).
#pragma once
#include "library_blas.h"

namespace cutune {

using HalfNumber = ShortNumber<Half>;
using BrainNumber = ShortNumber<Brain>;

enum DataType { kFloat = 0, kDouble = 1, kHalf = 2, kByte = 3, kComplex = 4, kDoubleComplex = 5,
                kInt = 10, kBFloat = 14 };

// Calls `use` with an element of the type; false: there is no such one.
template <class Use> bool with_type(int type, Use use) {
    switch (type) {
        case kFloat: use(float()); return true;
        case kDouble: use(double()); return true;
        case kHalf: use(HalfNumber()); return true;
        case kBFloat: use(BrainNumber()); return true;
        case kByte: use(static_cast<signed char>(0)); return true;
        case kInt: use(0); return true;
        default: return false;
    }
}

// As `with_type`, of the types that matrices of equations have, for what ends with a status.
template <class Use> int with_field(int type, int if_other, Use use) {
    switch (type) {
        case kFloat: return use(float());
        case kDouble: return use(double());
        case kComplex: return use(Complex());
        case kDoubleComplex: return use(DoubleComplex());
        default: return if_other;
    }
}

inline Matrix<double> read_typed(int type, int operation, const void* from, int64_t rows, int64_t columns,
                          int64_t leading) {
    Matrix<double> found;
    with_type(type, [&](auto element) {
        found = read_operand(static_cast<const decltype(element)*>(from), operation, rows, columns,
                             leading);
    });
    return found;
}

// As `Scalar`, of a type that a number tells.
struct TypedScalar {
    int type;
    const void* on_device;
    double value = 0;
    TypedScalar(int type_, const void* from, bool is_on_device)
        : type(type_), on_device(is_on_device ? from : nullptr) {
        if (!on_device)
            with_type(type, [&](auto element) {
                value = static_cast<double>(*static_cast<const decltype(element)*>(from));
            });
    }
    double get() const {
        return on_device ? read_typed(type, kPlain, on_device, 1, 1, 1)(0, 0) : value;
    }
};

}  // namespace cutune
