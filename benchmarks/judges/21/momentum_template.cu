// Neural networks: a step down the gradient with Nesterov's momentum, of n floats and n/2 + 1
// doubles.
//
//     nvcc -O2 -o momentum_template momentum_template.cu && ./momentum_template 1000000

#include "checksum.h"

template <typename T>
__global__ void sgd_momentum(T *w, T *velocity, const T *gradient, T rate, T mu, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        T g = gradient[i];
        T v = mu * velocity[i] + g;
        velocity[i] = v;
        w[i] -= rate * (g + mu * v);
    }
}

template <typename T>
double step(int n, const char *name, uint32_t seed) {
    const std::vector<float> a = quick_values(n, seed), b = quick_values(n, seed + 1);
    const std::vector<float> c = quick_values(n, seed + 2);
    const std::vector<T> w(a.begin(), a.end()), velocity(b.begin(), b.end());
    const std::vector<T> gradient(c.begin(), c.end());
    T *d_w = to_device(w), *d_velocity = to_device(velocity), *d_gradient = to_device(gradient);

    const int block = 512;
    sgd_momentum<T><<<(n + block - 1) / block, block>>>(d_w, d_velocity, d_gradient, (T)0.05,
                                                        (T)0.9, n);
    finish_launches();

    const std::vector<T> after = from_device(d_w, n);
    print_checksum(name, after);
    print_checksum("velocity", from_device(d_velocity, n));
    return sampled_error(after, [&](size_t e) {
        const double v = 0.9 * velocity[e] + gradient[e];
        return w[e] - 0.05 * (gradient[e] + 0.9 * v);
    });
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 100000000);
    const double error = step<float>(n, "floats", 2191);
    return verdict(fmax(error, step<double>(n / 2 + 1, "doubles", 2195)));
}
