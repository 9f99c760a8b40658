// Electronics: the response of a ladder of eight sections at n frequencies, complex doubles of a
// class of its own.
//
//     nvcc -O2 -o ladder_response ladder_response.cu && ./ladder_response 50000

#include "summed.h"

template <class T>
struct Complex {
    T re, im;
};
template <class T>
__host__ __device__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T>
__host__ __device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
__host__ __device__ Complex<T> operator/(Complex<T> a, Complex<T> b) {
    const T d = b.re * b.re + b.im * b.im;
    return {(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
}

typedef Complex<double> Z;

#define SECTIONS 8

struct Ladder {
    double resistance, inductance[SECTIONS], capacitance[SECTIONS], load;
};

__host__ __device__ inline Z response(const Ladder &ladder, double omega) {
    Z impedance = {ladder.load, 0.0}, gain = {1.0, 0.0};
    for (int k = 0; k < SECTIONS; k++) {
        // A capacitor across what follows, then a coil before both.
        const Z admittance = Z{0.0, omega * ladder.capacitance[k]} + Z{1.0, 0.0} / impedance;
        const Z parallel = Z{1.0, 0.0} / admittance;
        impedance = parallel + Z{ladder.resistance, omega * ladder.inductance[k]};
        gain = gain * (parallel / impedance);
    }
    return gain;
}

__global__ void sweep_frequencies(const double *omega, Z *gain, Ladder ladder, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        gain[i] = response(ladder, omega[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 50000000);
    Ladder ladder = {0.05, {}, {}, 50.0};
    for (int k = 0; k < SECTIONS; k++) {
        ladder.inductance[k] = 1e-6 * (1.0 + 0.1 * k);
        ladder.capacitance[k] = 4e-10 * (1.0 - 0.05 * k);
    }
    std::vector<double> omega(n);
    for (int i = 0; i < n; i++) omega[i] = 1e5 + 4e7 * i / n;
    double *d_omega = to_device(omega);
    Z *d_gain = device_zeros<Z>(n);

    sweep_frequencies<<<(n + 191) / 192, 192>>>(d_omega, d_gain, ladder, n);
    finish_launches();

    const std::vector<Z> gain = from_device(d_gain, n);
    std::vector<double> power(n);
    for (int i = 0; i < n; i++) power[i] = gain[i].re * gain[i].re + gain[i].im * gain[i].im;
    say_sum("power", power);
    return verdict(sampled_error(power, [&](size_t e) {
        const Z z = response(ladder, omega[e]);
        return z.re * z.re + z.im * z.im;
    }));
}
