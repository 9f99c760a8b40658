// Which of n odd numbers of 32 bits are prime: small divisors first, then the test of Miller and
// Rabin to the bases 2, 3, 5 and 7, which is certain below 3.2e9. Threads stride over the grid.
//
//     nvcc -O2 -o miller_rabin miller_rabin.cu && ./miller_rabin 1000000

#include "../host.h"

#define FIRST 2000000001u

__device__ inline unsigned int mul_mod(unsigned int a, unsigned int b, unsigned int m) {
    return (unsigned int)((unsigned long long)a * b % m);
}

__device__ bool passes(unsigned int n, unsigned int base, unsigned int odd, int twos) {
    unsigned int power = 1, square = base;
    for (unsigned int rest = odd; rest > 0; rest >>= 1) {
        if (rest & 1) power = mul_mod(power, square, n);
        square = mul_mod(square, square, n);
    }
    if (power == 1 || power == n - 1) return true;
    for (int i = 1; i < twos; i++) {
        power = mul_mod(power, power, n);
        if (power == n - 1) return true;
    }
    return false;
}

__device__ bool is_prime(unsigned int n) {
    for (unsigned int divisor = 3; divisor < 32; divisor += 2)
        if (n % divisor == 0) return false;
    const int twos = __ffs(n - 1) - 1;
    const unsigned int odd = (n - 1) >> twos;
    return passes(n, 2, odd, twos) && passes(n, 3, odd, twos) && passes(n, 5, odd, twos) &&
           passes(n, 7, odd, twos);
}

__global__ void test_primes(unsigned int first, int count, unsigned char *prime) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        prime[i] = is_prime(first + 2u * i);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 500000000);
    unsigned char *d_prime = device_zeros<unsigned char>(n);

    const int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 2048) blocks = 2048;
    test_primes<<<blocks, threads>>>(FIRST, n, d_prime);
    finish_launches();

    return verdict(sampled_error(from_device(d_prime, n), [&](size_t i) {
        const unsigned int number = FIRST + 2u * (unsigned int)i;
        for (unsigned int divisor = 3; (uint64_t)divisor * divisor <= number; divisor += 2)
            if (number % divisor == 0) return 0;
        return 1;
    }));
}
