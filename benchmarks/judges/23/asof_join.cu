// Markets: for each of n trades the last price that was quoted at or before it, by binary search
// in the n/3 + 1 sorted times of quotes; a price of -1 where there was none. Trades are almost in
// order.
//
//     nvcc -O2 -o asof_join asof_join.cu && ./asof_join 50000

#include "checked.h"

__device__ int quotes_until(const int64_t *times, int count, int64_t when) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (times[middle] <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void join_quotes(const int64_t *trade_times, int trades, const int64_t *quote_times,
                            const float *prices, int quotes, float *joined) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= trades) return;
    const int until = quotes_until(quote_times, quotes, trade_times[i]);
    joined[i] = until > 0 ? prices[until - 1] : -1.0f;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 100000000), quotes = n / 3 + 1;
    std::vector<int64_t> trade_times(n), quote_times(quotes);
    for (int i = 0; i < n; i++)
        trade_times[i] = (int64_t)i * 100 + mixed(3211u + i) % 20000;
    for (int q = 0; q < quotes; q++)
        quote_times[q] = (int64_t)q * 300 + 150 + mixed(83211u + q) % 290;
    const std::vector<float> prices = quick_values(quotes, 3212);
    const int64_t *d_trades = to_device(trade_times), *d_quotes = to_device(quote_times);
    const float *d_prices = to_device(prices);
    float *d_joined = device_zeros<float>(n);

    const int block = 256;
    join_quotes<<<(n + block - 1) / block, block>>>(d_trades, n, d_quotes, d_prices, quotes,
                                                     d_joined);
    finish_launches();

    const std::vector<float> joined = from_device(d_joined, n);
    say_sum("prices", joined);
    return verdict(sampled_wrong(n, [&](size_t i) {
        // Quotes are 300 apart, more or less: a guess, then steps of one.
        int64_t q = trade_times[i] / 300;
        q = q < quotes ? q : quotes - 1;
        while (q + 1 < quotes && quote_times[q + 1] <= trade_times[i]) q++;
        while (q >= 0 && quote_times[q] > trade_times[i]) q--;
        return joined[i] == (q >= 0 ? prices[q] : -1.0f);
    }));
}
