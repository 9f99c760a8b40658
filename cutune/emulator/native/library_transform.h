// Discrete Fourier transforms of any length, in double precision, of which no factor is taken out:
// to[k] = sum over j of from[j] * exp(sign * 2 pi i j k / n).
#pragma once
#include <cmath>
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace cutune {

using Value = std::complex<double>;
using Values = std::vector<Value>;

// As the operator does where nothing is infinite; that looks for infinities each time.
inline Value times(const Value& a, const Value& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// exp(2 pi i part / whole)
inline Value root_of_one(double part, double whole) {
    constexpr double kTwoPi = 6.283185307179586;
    return std::polar(1.0, kTwoPi * (part / whole));
}

// By small prime factors (Cooley and Tukey, 1965); what is left of the length as a convolution.
class Transform {
  public:
    Transform(size_t n, int sign) : n_(n), roots_(n) {
        for (size_t k = 0; k < n; ++k)
            roots_[k] = root_of_one(sign * static_cast<double>(k), static_cast<double>(n));
        size_t rest = n;
        for (size_t prime = least_factor(rest); rest > 1 && prime <= kMostTerms;
             prime = least_factor(rest))
            rest /= prime;
        if (rest > 1) convolution_ = std::make_unique<Convolution>(rest, sign);
    }

    void run(const Value* from, Value* to) const { part(from, 1, to, n_); }

  private:
    static constexpr size_t kMostTerms = 43;

    // The sum as a convolution, whose length is a power of two (Bluestein, 1970).
    class Convolution {
      public:
        Convolution(size_t n, int sign) : factors_(n), padded_(1) {
            while (padded_ < 2 * n - 1) padded_ *= 2;
            forward_ = std::make_unique<Transform>(padded_, -1);
            backward_ = std::make_unique<Transform>(padded_, 1);
            Values terms(padded_);
            for (size_t k = 0; k < n; ++k) {
                const auto part = static_cast<double>(k * k % (2 * n));
                factors_[k] = root_of_one(sign * part, 2 * static_cast<double>(n));
                terms[k] = terms[(padded_ - k) % padded_] = std::conj(factors_[k]);
            }
            spectrum_ = transformed(*forward_, terms);
            for (Value& value : spectrum_) value /= static_cast<double>(padded_);
        }

        void run(const Value* from, size_t step, Value* to) const {
            Values terms(padded_);
            for (size_t k = 0; k < factors_.size(); ++k)
                terms[k] = times(from[k * step], factors_[k]);
            terms = transformed(*forward_, terms);
            for (size_t k = 0; k < padded_; ++k) terms[k] = times(terms[k], spectrum_[k]);
            terms = transformed(*backward_, terms);
            for (size_t k = 0; k < factors_.size(); ++k) to[k] = times(terms[k], factors_[k]);
        }

      private:
        static Values transformed(const Transform& transform, const Values& from) {
            Values to(from.size());
            transform.run(from.data(), to.data());
            return to;
        }

        Values factors_, spectrum_;
        size_t padded_;
        std::unique_ptr<Transform> forward_, backward_;
    };

    static size_t least_factor(size_t n) {
        if (n % 4 == 0) return 4;
        for (size_t factor = 2; factor <= kMostTerms; ++factor)
            if (n % factor == 0) return factor;
        return n;
    }

    // Of n numbers that are `step` apart; n * step is the whole length.
    void part(const Value* from, size_t step, Value* to, size_t n) const {
        if (n == 1) {
            *to = *from;
            return;
        }
        const size_t terms = least_factor(n), each = n / terms;
        if (terms > kMostTerms) return convolution_->run(from, step, to);
        for (size_t r = 0; r < terms; ++r) part(from + r * step, step * terms, to + r * each, each);
        Value sums[kMostTerms];
        for (size_t k = 0; k < each; ++k) {
            for (size_t r = 0; r < terms; ++r)
                sums[r] = times(to[r * each + k], roots_[r * k * step]);
            for (size_t q = 0; q < terms; ++q) to[q * each + k] = sum(sums, terms, q);
        }
    }

    // Of so many terms, each with the q-th power of a root of one of its own.
    Value sum(const Value* of, size_t terms, size_t q) const {
        if (terms == 2) return q == 0 ? of[0] + of[1] : of[0] - of[1];
        Value total = of[0];
        for (size_t r = 1, power = q; r < terms; ++r, power = (power + q) % terms)
            total += times(of[r], roots_[power * (n_ / terms)]);
        return total;
    }

    size_t n_;
    Values roots_;
    std::unique_ptr<Convolution> convolution_;
};

}  // namespace cutune
