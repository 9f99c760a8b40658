// Finance: n paths of two shares over 36 months. The note ends at the first quarter in which the
// worse one is above where it began, and pays by how long that took; else it pays by the worse
// one's end.
//
//     nvcc -O2 -o autocall_paths autocall_paths.cu && ./autocall_paths 30000

#include "../host.h"

#define MONTHS 36

struct Market {
    float drift[2], volatility[2], correlation, call, knock, coupon, rate;
};

__host__ __device__ inline float payment(uint32_t path, const Market &market) {
    float log_price[2] = {0.0f, 0.0f};
    float lowest = 0.0f;
    uint32_t state = mixed(path * 2654435769u + 2061u);
    for (int month = 1; month <= MONTHS; month++) {
        state = mixed(state + 0x9e3779b9u);
        const float uniform = ((state >> 8) + 0.5f) * (1.0f / 16777216.0f);
        state = mixed(state + 0x9e3779b9u);
        const float angle = (state >> 8) * (6.2831853f / 16777216.0f);
        const float radius = sqrtf(-2.0f * logf(uniform));
        const float first = radius * cosf(angle), other = radius * sinf(angle);
        const float rho = market.correlation;
        const float second = rho * first + sqrtf(1.0f - rho * rho) * other;
        log_price[0] += market.drift[0] + market.volatility[0] * first;
        log_price[1] += market.drift[1] + market.volatility[1] * second;
        const float worse = fminf(log_price[0], log_price[1]);
        lowest = fminf(lowest, worse);
        if (month % 3 == 0 && worse >= market.call)
            return (1.0f + market.coupon * month) * expf(-market.rate * month);
    }
    const float end = expf(fminf(log_price[0], log_price[1]));
    return (lowest < market.knock ? fminf(end, 1.0f) : 1.0f) * expf(-market.rate * MONTHS);
}

__global__ void price_paths(float *payments, Market market, int n) {
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < n) payments[path] = payment(path, market);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 200000000);
    const Market market = {{0.0011f, 0.0008f}, {0.055f, 0.07f}, 0.45f, 0.0f,
                           -0.4f,              0.006f,          0.002f};
    float *d_payments = device_zeros<float>(n);

    const int threads = 128;
    price_paths<<<(n + threads - 1) / threads, threads>>>(d_payments, market, n);
    finish_launches();

    const std::vector<float> payments = from_device(d_payments, n);
    return verdict(sampled_error(payments, [&](size_t e) { return payment((uint32_t)e, market); }));
}
