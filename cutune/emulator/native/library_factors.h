// Factorizations of matrices on the host, of reals and of complex numbers, as LAPACK defines them:
// triangles (LU, Cholesky), reflections (QR), and rotations (eigenvalues, singular values).
#pragma once
#include <numeric>
#include <utility>
#include <vector>

#include "library_blas.h"

namespace cutune {

// Rotations stop where what they would change is a rounding of what is there.
constexpr double kRounding = 1.2e-16;
constexpr int kMostSweeps = 60;

template <class W> Matrix<W> identity(int64_t rows, int64_t columns) {
    Matrix<W> found(rows, columns);
    for (int64_t k = 0; k < std::min(rows, columns); ++k) found(k, k) = 1;
    return found;
}

// Columns in another order.
template <class W>
Matrix<W> with_columns(const Matrix<W>& from, const std::vector<int64_t>& places) {
    Matrix<W> found(from.rows, static_cast<int64_t>(places.size()));
    for (int64_t j = 0; j < found.columns; ++j)
        std::copy_n(from.column(places[static_cast<size_t>(j)]), from.rows, found.column(j));
    return found;
}

// ---- triangles

// L below the diagonal, U above and on it; pivots name the row that each row was swapped with, from
// 1. Gives 0, or the place of the first pivot that is 0. `pivoted`: rows may be swapped.
template <class W> int factor_lu(Matrix<W>* a, std::vector<int>* pivots, bool pivoted = true) {
    const int64_t steps = std::min(a->rows, a->columns);
    int singular = 0;
    pivots->assign(static_cast<size_t>(steps), 0);
    for (int64_t k = 0; k < steps; ++k) {
        int64_t best = k;
        for (int64_t i = k + 1; i < a->rows && pivoted; ++i)
            if (magnitude((*a)(i, k)) > magnitude((*a)(best, k))) best = i;
        (*pivots)[static_cast<size_t>(k)] = static_cast<int>(best + 1);
        for (int64_t j = 0; j < a->columns && best != k; ++j)
            std::swap((*a)(k, j), (*a)(best, j));
        const W pivot = (*a)(k, k);
        if (pivot == W()) {
            if (!singular) singular = static_cast<int>(k + 1);
            continue;
        }
        for (int64_t i = k + 1; i < a->rows; ++i) (*a)(i, k) /= pivot;
        for (int64_t j = k + 1; j < a->columns; ++j)
            for (int64_t i = k + 1; i < a->rows; ++i) (*a)(i, j) -= (*a)(i, k) * (*a)(k, j);
    }
    return singular;
}

// As many rows as `pivots` has are swapped as in the factorization, or back.
template <class W>
void swap_rows(Matrix<W>* b, const std::vector<int>& pivots, bool is_backwards = false) {
    const auto count = static_cast<int64_t>(pivots.size());
    for (int64_t step = 0; step < count; ++step) {
        const int64_t k = is_backwards ? count - 1 - step : step;
        const int64_t other = pivots[static_cast<size_t>(k)] - 1;
        for (int64_t j = 0; j < b->columns && other != k; ++j) std::swap((*b)(k, j), (*b)(other, j));
    }
}

// One triangle of a square matrix; zeros beside it.
template <class W> Matrix<W> triangle_of(const Matrix<W>& a, int fill, bool has_ones = false) {
    Matrix<W> found(a.rows, a.rows);
    for (int64_t j = 0; j < a.rows; ++j)
        for (int64_t i = 0; i < a.rows; ++i)
            if (i == j)
                found(i, j) = has_ones ? W(1) : a(i, j);
            else if (fill == kUpper ? i < j : i > j)
                found(i, j) = a(i, j);
    return found;
}

// x with op(A) x = b, where `a` holds the factors of A.
template <class W>
void solve_lu(const Matrix<W>& a, const std::vector<int>& pivots, int operation, Matrix<W>* b) {
    const auto lower = triangle_of(a, kLower, true), upper = triangle_of(a, kUpper);
    if (operation == kPlain) {
        swap_rows(b, pivots);
        solve(lower, false, b);
        solve(upper, true, b);
        return;
    }
    const bool conjugated = operation == kConjugated;
    solve(transposed(upper, conjugated), false, b);
    solve(transposed(lower, conjugated), true, b);
    swap_rows(b, pivots, true);
}

// L with L L' = A, of which the lower triangle is read; above it zeros. Gives 0, or the order of the
// first leading part that is not positive definite: what was done until then stays.
template <class W> int factor_cholesky(Matrix<W>* a) {
    for (int64_t k = 0; k < a->rows; ++k) {
        const double left = std::real((*a)(k, k));
        if (!(left > 0)) return static_cast<int>(k + 1);
        (*a)(k, k) = std::sqrt(left);
        for (int64_t i = k + 1; i < a->rows; ++i) (*a)(i, k) /= (*a)(k, k);
        for (int64_t j = k + 1; j < a->rows; ++j)
            for (int64_t i = j; i < a->rows; ++i)
                (*a)(i, j) -= (*a)(i, k) * conjugate((*a)(j, k));
    }
    return 0;
}

// x with L L' x = b.
template <class W> void solve_cholesky(const Matrix<W>& lower, Matrix<W>* b) {
    solve(lower, false, b);
    solve(transposed(lower, true), true, b);
}

// ---- reflections: I - tau v v', where v is 1 at its first place, and lies below the diagonal

// c from row k on, times the reflection of column k, or times its conjugate.
template <class W>
void reflect(const Matrix<W>& vectors, int64_t k, W tau, Matrix<W>* c, int64_t first) {
    const W* const v = vectors.column(k);
    for (int64_t j = first; j < c->columns; ++j) {
        W* const to = c->column(j);
        W sum = to[k];
        for (int64_t i = k + 1; i < c->rows; ++i) sum += conjugate(v[i]) * to[i];
        sum *= tau;
        to[k] -= sum;
        for (int64_t i = k + 1; i < c->rows; ++i) to[i] -= v[i] * sum;
    }
}

// R on and above the diagonal, the reflections below it.
template <class W> void factor_qr(Matrix<W>* a, std::vector<W>* taus) {
    const int64_t steps = std::min(a->rows, a->columns);
    taus->assign(static_cast<size_t>(steps), W());
    for (int64_t k = 0; k < steps; ++k) {
        W* const column = a->column(k);
        double below = 0;
        for (int64_t i = k + 1; i < a->rows; ++i) below += squared(column[i]);
        const W first = column[k];
        if (below == 0 && std::imag(first) == 0) continue;
        const double length = std::sqrt(squared(first) + below);
        const double becomes = std::real(first) > 0 ? -length : length;
        const W tau = (becomes - first) / becomes;
        for (int64_t i = k + 1; i < a->rows; ++i) column[i] /= first - becomes;
        (*taus)[static_cast<size_t>(k)] = tau;
        reflect(*a, k, conjugate(tau), a, k + 1);
        column[k] = becomes;
    }
}

// Q c, or Q' c, where Q is the product of the first reflections.
template <class W>
void multiply_by_q(const Matrix<W>& vectors, const std::vector<W>& taus, bool conjugated,
                   Matrix<W>* c) {
    const auto count = static_cast<int64_t>(taus.size());
    for (int64_t step = 0; step < count; ++step) {
        const int64_t k = conjugated ? step : count - 1 - step;
        const W tau = taus[static_cast<size_t>(k)];
        reflect(vectors, k, conjugated ? conjugate(tau) : tau, c, 0);
    }
}

// ---- rotations

// What turns columns p and q of a matrix: cosine, and sine with a phase.
template <class W> struct Rotation {
    double cosine;
    W sine;

    // That which makes the hermitian [[p, between], [conjugate(between), q]] diagonal.
    Rotation(double p, double q, W between) {
        const double size = std::abs(between), ratio = (q - p) / (2 * size);
        const double tangent =
            (ratio >= 0 ? 1 : -1) / (std::fabs(ratio) + std::sqrt(1 + ratio * ratio));
        cosine = 1 / std::sqrt(1 + tangent * tangent);
        sine = between / size * (tangent * cosine);
    }

    void turn(Matrix<W>* of, int64_t p, int64_t q) const {
        W *const first = of->column(p), *const second = of->column(q);
        for (int64_t i = 0; i < of->rows; ++i) {
            const W a = first[i], b = second[i];
            first[i] = cosine * a - conjugate(sine) * b;
            second[i] = sine * a + cosine * b;
        }
    }

    void turn_rows(Matrix<W>* of, int64_t p, int64_t q) const {
        for (int64_t j = 0; j < of->columns; ++j) {
            const W a = (*of)(p, j), b = (*of)(q, j);
            (*of)(p, j) = cosine * a - sine * b;
            (*of)(q, j) = conjugate(sine) * a + cosine * b;
        }
    }
};

// The places of numbers in rising or falling order.
inline std::vector<int64_t> sorted_places(const std::vector<double>& numbers, bool is_falling) {
    std::vector<int64_t> places(numbers.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
        const double first = numbers[static_cast<size_t>(a)], second = numbers[static_cast<size_t>(b)];
        return is_falling ? first > second : first < second;
    });
    return places;
}

inline std::vector<double> in_order(const std::vector<double>& numbers,
                                    const std::vector<int64_t>& places) {
    std::vector<double> found;
    for (const int64_t place : places) found.push_back(numbers[static_cast<size_t>(place)]);
    return found;
}

template <class W> struct Eigen {
    std::vector<double> values;  // rising
    Matrix<W> vectors;           // a column each
    bool converged = false;
};

// Of a hermitian matrix, by Jacobi's method: rotations make it diagonal, one pair at a time.
template <class W> Eigen<W> eigen(Matrix<W> a) {
    const int64_t n = a.rows;
    auto vectors = identity<W>(n, n);
    double size = 0;
    for (const W& value : a.values) size += squared(value);
    const double negligible = kRounding * std::sqrt(size) / static_cast<double>(std::max<int64_t>(n, 1));
    bool is_turned = true;
    for (int sweep = 0; sweep < kMostSweeps && is_turned; ++sweep) {
        is_turned = false;
        for (int64_t p = 0; p < n; ++p)
            for (int64_t q = p + 1; q < n; ++q) {
                if (!(std::abs(a(p, q)) > negligible)) continue;
                const Rotation<W> rotation(std::real(a(p, p)), std::real(a(q, q)), a(p, q));
                rotation.turn(&a, p, q);
                rotation.turn_rows(&a, p, q);
                a(p, q) = a(q, p) = 0;
                rotation.turn(&vectors, p, q);
                is_turned = true;
            }
    }
    std::vector<double> values;
    for (int64_t k = 0; k < n; ++k) values.push_back(std::real(a(k, k)));
    const auto places = sorted_places(values, false);
    return {in_order(values, places), with_columns(vectors, places), !is_turned};
}

template <class W> struct SingularValues {
    std::vector<double> values;  // falling
    Matrix<W> left, right;       // a column each; square
    bool converged = false;
};

// Columns of length 1 at right angles, and more of them until the matrix is square.
template <class W> Matrix<W> completed(const Matrix<W>& columns) {
    auto factors = columns;
    std::vector<W> taus;
    factor_qr(&factors, &taus);
    auto found = identity<W>(columns.rows, columns.rows);
    multiply_by_q(factors, taus, false, &found);
    std::copy(columns.values.begin(), columns.values.end(), found.values.begin());
    return found;
}

// By one-sided Jacobi: rotations set the columns of A at right angles; their lengths are the values.
template <class W> SingularValues<W> singular_values(const Matrix<W>& given) {
    if (given.rows < given.columns) {
        auto found = singular_values(transposed(given, true));
        std::swap(found.left, found.right);
        return found;
    }
    auto a = given;
    auto right = identity<W>(a.columns, a.columns);
    bool is_turned = true;
    for (int sweep = 0; sweep < kMostSweeps && is_turned; ++sweep) {
        is_turned = false;
        for (int64_t p = 0; p < a.columns; ++p)
            for (int64_t q = p + 1; q < a.columns; ++q) {
                const W *const first = a.column(p), *const second = a.column(q);
                double of_p = 0, of_q = 0;
                W between = 0;
                for (int64_t i = 0; i < a.rows; ++i) {
                    of_p += squared(first[i]);
                    of_q += squared(second[i]);
                    between += conjugate(first[i]) * second[i];
                }
                const double tolerance = 8 * kRounding * std::sqrt(of_p) * std::sqrt(of_q);
                if (!(std::abs(between) > tolerance)) continue;
                const Rotation<W> rotation(of_p, of_q, between);
                rotation.turn(&a, p, q);
                rotation.turn(&right, p, q);
                is_turned = true;
            }
    }
    std::vector<double> lengths;
    for (int64_t j = 0; j < a.columns; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < a.rows; ++i) sum += squared(a(i, j));
        lengths.push_back(std::sqrt(sum));
    }
    const auto places = sorted_places(lengths, true);
    const auto values = in_order(lengths, places);
    // What is left of a column that depends on others has no direction.
    std::vector<int64_t> kept;
    for (size_t k = 0; k < values.size(); ++k)
        if (values[k] > kRounding * values[0]) kept.push_back(places[k]);
    auto left = with_columns(a, kept);
    for (int64_t j = 0; j < left.columns; ++j)
        for (int64_t i = 0; i < left.rows; ++i) left(i, j) /= values[static_cast<size_t>(j)];
    return {values, completed(left), with_columns(right, places), !is_turned};
}

}  // namespace cutune
