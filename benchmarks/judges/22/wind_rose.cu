// Meteorology: how often the wind of each of 60 stations blew from each of 16 directions at each of
// 8 speeds, of n readings; integer additions in global memory.
//
//     nvcc -O2 -o wind_rose wind_rose.cu && ./wind_rose 100000

#include "summed.h"

constexpr int kStations = 60, kSectors = 16, kClasses = 8;

struct Reading {
    float east, north;
    int station;
};

__host__ __device__ inline int bin_of(Reading r) {
    const float angle = atan2f(r.east, r.north) + 3.14159265f;
    int sector = (int)(angle * (kSectors / 6.2831855f));
    sector = sector < 0 ? 0 : sector >= kSectors ? kSectors - 1 : sector;
    const float speed = sqrtf(r.east * r.east + r.north * r.north);
    int cls = (int)(speed * 0.4f);
    if (cls >= kClasses) cls = kClasses - 1;
    return (r.station * kSectors + sector) * kClasses + cls;
}

__global__ void count_winds(const Reading *readings, int n, unsigned int *counts) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) atomicAdd(&counts[bin_of(readings[i])], 1u);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 150000000);
    const int bins = kStations * kSectors * kClasses;
    std::vector<Reading> readings(n);
    for (int i = 0; i < n; i++) {
        const uint32_t a = mixed(3u * i + 1u), b = mixed(3u * i + 2u);
        readings[i].east = (int)(a >> 12) * (20.0f / 1048576.0f) - 10.0f;
        readings[i].north = (int)(b >> 12) * (20.0f / 1048576.0f) - 10.0f;
        readings[i].station = (int)(mixed(3u * i) % kStations);
    }
    Reading *d_readings = to_device(readings);
    unsigned int *d_counts = device_zeros<unsigned int>(bins);

    const int threads = 128;
    count_winds<<<(n + threads - 1) / threads, threads>>>(d_readings, n, d_counts);
    finish_launches();

    const std::vector<unsigned int> counts = from_device(d_counts, bins);
    double weighted = 0.0, total = 0.0;
    for (int i = 0; i < bins; i++) weighted += (double)i * counts[i], total += counts[i];
    printf("checksum of counts: %.10g\n", weighted);
    // The host may round an angle to the other side of a border between two directions.
    double expected = 0.0;
    for (const Reading &r : readings) expected += bin_of(r);
    const double error = fabs(weighted - expected) / (expected + 1.0);
    return verdict(total == n && error < 1e-3 ? 0.0 : 1.0);
}
