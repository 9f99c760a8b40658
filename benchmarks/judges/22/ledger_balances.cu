// Banking: balances of n accounts after each of 64 entries, in cents of 64 bits, a row per thread,
// and how often an account was overdrawn.
//
//     nvcc -O2 -o ledger_balances ledger_balances.cu && ./ledger_balances 10000

#include "summed.h"

const int ENTRIES = 64;

__global__ void run_balances(const long long *entries, long long *balances, int *overdrawn,
                             const long long *opening, int accounts) {
    int account = blockIdx.x * blockDim.x + threadIdx.x;
    if (account < accounts) {
        long long balance = opening[account];
        int times = 0;
        for (int k = 0; k < ENTRIES; k++) {
            balance += entries[(long long)account * ENTRIES + k];
            balances[(long long)account * ENTRIES + k] = balance;
            if (balance < 0) times++;
        }
        overdrawn[account] = times;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 3000000);
    const size_t count = (size_t)n * ENTRIES;
    std::vector<long long> entries(count), opening(n);
    for (size_t i = 0; i < count; i++)
        entries[i] = (long long)(mixed((uint32_t)i) % 200001) - 100000;
    for (int i = 0; i < n; i++) opening[i] = mixed((uint32_t)i + 5u) % 400000;
    long long *d_entries = to_device(entries), *d_opening = to_device(opening);
    long long *d_balances = device_zeros<long long>(count);
    int *d_overdrawn = device_zeros<int>(n);

    run_balances<<<(n + 255) / 256, 256>>>(d_entries, d_balances, d_overdrawn, d_opening, n);
    finish_launches();

    const std::vector<long long> balances = from_device(d_balances, count);
    say_sum("balances", balances);
    say_sum("overdrawn", from_device(d_overdrawn, n));
    return verdict(sampled_error(balances, [&](size_t e) {
        long long sum = opening[e / ENTRIES];
        for (size_t i = e / ENTRIES * ENTRIES; i <= e; i++) sum += entries[i];
        return sum;
    }));
}
