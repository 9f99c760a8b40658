// Matrix instructions: all lanes of a warp multiply small matrices together. Products and sums are
// formed in double precision and rounded once; PTX leaves order and intermediate precision open.
#include <algorithm>
#include <cmath>

#include "machine_access.h"
#include "machine_check.h"
#include "machine_half.h"

namespace cutune {
namespace {

enum Element : u32 { F16, BF16, TF32, F32, F64, S8, U8, S32 };
enum : u32 { OWN_LAYOUT = 1, SATURATED = 2, COLUMNS = 4, STORE_FRAGMENT = 8 };

u32 bytes_of(u32 element) {
    const u32 bytes[] = {2, 2, 4, 4, 8, 1, 1, 4};
    return bytes[element];
}

f64 value_of(u32 element, u64 x) {
    switch (element) {
        case F16: return Half::widened(u16(x));
        case BF16: return Brain::widened(u16(x));
        case TF32: return bits<f32>(u32(x) & 0xffffe000);  // 10 bits of mantissa
        case F32: return bits<f32>(u32(x));
        case F64: return bits<f64>(x);
        case S8: return s8(x);
        case U8: return u8(x);
        default: return s32(x);
    }
}

u64 bits_of(u32 element, f64 value, bool saturated) {
    switch (element) {
        case F16: return Half::narrowed(value);
        case BF16: return Brain::narrowed(value);
        case F32: return bits<u32>(f32(value));
        case F64: return bits<u64>(value);
        default:
            if (saturated) value = std::min(std::max(value, -2147483648.0), 2147483647.0);
            return u32(s64(value));
    }
}

// The registers of one matrix: how many per lane, and of what.
struct Fragment {
    u32 element, count;
    const u32* registers;
    u32 per_register() const { return element == F64 ? 1 : 4 / bytes_of(element); }
    u32 per_lane() const { return count * per_register(); }
};

Fragment take(const u32*& table) {
    const Fragment found{table[0], table[1], table + 2};
    table += 2 + found.count;
    return found;
}

u64 element_bits(const Warp& w, const Fragment& f, u32 lane, u32 k) {
    const u8* at = w.registers + f.registers[k / f.per_register()];
    if (f.element == F64) return reinterpret_cast<const u64*>(at)[lane];
    const u32 word = reinterpret_cast<const u32*>(at)[lane];
    return word >> (8 * bytes_of(f.element) * (k % f.per_register()));
}

void set_element(Warp& w, const Fragment& f, u32 lane, u32 k, u64 value) {
    u8* at = w.registers + f.registers[k / f.per_register()];
    if (f.element == F64) {
        reinterpret_cast<u64*>(at)[lane] = value;
        return;
    }
    u32& word = reinterpret_cast<u32*>(at)[lane];
    const u32 width = 8 * bytes_of(f.element), shift = width * (k % f.per_register());
    const u32 mask = width == 32 ? ~0u : ((1u << width) - 1) << shift;
    word = (word & ~mask) | (u32(value) << shift & mask);
}

enum Role { A, B, ACCUMULATOR };

struct Index {
    u32 row, column;
};

// Where element k of a lane stands in its matrix. For `mma`, four lanes share a row of A (a column
// of B), each with as many neighbours as fit into a register (PTX manual, figures of mma.m16n8k*).
Index place(const Fragment& f, Role role, u32 lane, u32 k, u32 rows, u32 columns, bool own) {
    if (own) {
        const u32 linear = (lane * f.per_lane() + k) % (rows * columns);
        return {linear / columns, linear % columns};
    }
    const u32 group = lane / 4, part = lane % 4;
    if (role == ACCUMULATOR) return {group + 8 * (k / 2), 2 * part + k % 2};
    const u32 p = f.per_register(), r = k / p, e = k % p;
    if (role == B) return {part * p + e + 4 * p * r, group};
    if (rows == 8) return {group, part * p + e + 4 * p * r};
    return {group + 8 * (r & 1), part * p + e + 4 * p * (r >> 1)};
}

constexpr u32 LARGEST = 32;
using Matrix = f64[LARGEST][LARGEST];

void gather(const Warp& w, const Fragment& f, Role role, u32 rows, u32 columns, bool own,
            Matrix& matrix) {
    for (u32 l = 0; l < LANES; l++)
        for (u32 k = 0; k < f.per_lane(); k++) {
            const Index at = place(f, role, l, k, rows, columns, own);
            matrix[at.row][at.column] = value_of(f.element, element_bits(w, f, l, k));
        }
}

void need_whole_warp(const Instruction* i, const Warp& w) {
    if (w.mask != FULL)
        fail(Outcome::unsupported, i, w, __builtin_ctz(w.mask),
             "a matrix instruction that only part of a warp executes");
}

void note_write(Warp& w, u64 address, u32 bytes) {
    Execution& x = *w.execution;
    if (UNLIKELY(x.launch.checker != nullptr)) x.launch.checker->wrote(x, address, bytes);
}

}  // namespace

// Further operands: m, n, k, flags, then the fragments d, a, b, c: element, number of registers,
// registers.
HANDLER(matrix_multiply) {
    need_whole_warp(i, w);
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    const u32 m = table[0], n = table[1], depth = table[2], flags = table[3];
    table += 4;
    const Fragment d = take(table), a = take(table), b = take(table), c = take(table);
    const bool own = flags & OWN_LAYOUT;
    Matrix x, y, sum;
    gather(w, a, A, m, depth, own, x);
    gather(w, b, B, depth, n, own, y);
    gather(w, c, ACCUMULATOR, m, n, own, sum);
    for (u32 row = 0; row < m; row++)
        for (u32 column = 0; column < n; column++)
            for (u32 k = 0; k < depth; k++)
                sum[row][column] = std::fma(x[row][k], y[k][column], sum[row][column]);
    for (u32 l = 0; l < LANES; l++)
        for (u32 k = 0; k < d.per_lane(); k++) {
            const Index at = place(d, ACCUMULATOR, l, k, m, n, own);
            set_element(w, d, l, k, bits_of(d.element, sum[at.row][at.column], flags & SATURATED));
        }
    return i + 1;
}

// a: address, b: stride in elements. Further operands: rows, columns, element, flags, number of
// registers, registers.
HANDLER(matrix_fragment) {
    need_whole_warp(i, w);
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    const u32 rows = table[0], columns = table[1], flags = table[3];
    const Fragment f{table[2], table[4], table + 5};
    const u32 size = bytes_of(f.element);
    alignas(64) u64 base[LANES], address[LANES];
    if (i->flags & SHARED) addresses<SHARED_SPACE>(i, w, base);
    else addresses<GLOBAL_SPACE>(i, w, base);
    const u32* stride = w.narrow(i->b);
    for (u32 k = 0; k < f.per_lane(); k++) {
        for (u32 l = 0; l < LANES; l++) {
            const Index at = place(f, A, l, k, rows, columns, true);
            const u64 element = flags & COLUMNS ? at.column * u64(stride[l]) + at.row
                                                : at.row * u64(stride[l]) + at.column;
            address[l] = base[l] + element * size;
        }
        const u32 ghosts = resolve(i, w, address, size);
        for (u32 l = 0; l < LANES; l++) {
            if (ghosts >> l & 1) continue;
            u64 value = flags & STORE_FRAGMENT ? element_bits(w, f, l, k) : 0;
            void* const memory = reinterpret_cast<void*>(address[l]);
            if (flags & STORE_FRAGMENT) memcpy(memory, &value, size), note_write(w, address[l], size);
            else memcpy(&value, memory, size), set_element(w, f, l, k, value);
        }
    }
    return i + 1;
}

// a: addresses of rows of 8 elements of 16 bits: of the first matrix in lanes 0 to 7, and so on.
// Further operands: transposed, number of matrices, registers.
HANDLER(matrix_load) {
    need_whole_warp(i, w);
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    const bool transposed = table[0];
    const u32 matrices = table[1];
    alignas(64) u64 address[LANES];
    if (i->flags & SHARED) addresses<SHARED_SPACE>(i, w, address);
    else addresses<GLOBAL_SPACE>(i, w, address);
    const u32 used = matrices == 4 ? FULL : (1u << 8 * matrices) - 1;
    if (used != FULL) w.set_mask(used);
    const u32 ghosts = resolve(i, w, address, 16);
    watch(i, w, address, 16, 4, SCATTERED);
    if (used != FULL) w.set_mask(FULL);
    u16 rows[LANES][8] = {};
    for (u32 l = 0; l < 8 * matrices; l++)
        if (!(ghosts >> l & 1)) memcpy(rows[l], reinterpret_cast<const void*>(address[l]), 16);
    for (u32 k = 0; k < matrices; k++)
        for (u32 l = 0; l < LANES; l++) {
            const u32 outer = l / 4, inner = 2 * (l % 4);
            const u16 low = transposed ? rows[8 * k + inner][outer] : rows[8 * k + outer][inner];
            const u16 high =
                transposed ? rows[8 * k + inner + 1][outer] : rows[8 * k + outer][inner + 1];
            w.narrow(table[2 + k])[l] = low | u32(high) << 16;
        }
    return i + 1;
}

}  // namespace cutune
