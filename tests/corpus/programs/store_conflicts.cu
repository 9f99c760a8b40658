// Lanes of a warp that store to one address: whose value stays? A line per kind of access.
#include <cstdio>
#include <cstring>

constexpr int LANES = 32, PATTERNS = 6;

template <class T>
__global__ void store(const int *place, T *out, bool in_shared, unsigned mask) {
    __shared__ T kept[LANES];
    const int lane = threadIdx.x;
    kept[lane] = T();
    __syncwarp();
    if (mask >> lane & 1) (in_shared ? kept : out)[place[lane]] = T(lane + 1);
    __syncwarp();
    if (in_shared) out[lane] = kept[lane];
}

template <class T> void test(const char *name, bool in_shared) {
    int place[PATTERNS][LANES], *device_place;
    T kept[LANES], *device_kept;
    unsigned random = 1;
    for (int lane = 0; lane < LANES; ++lane) {
        random = random * 1664525 + 1013904223;
        const int of_lane[] = {0, lane / 2, lane / 16, lane % 2, lane % 8, int(random >> 20 & 7)};
        for (int k = 0; k < PATTERNS; ++k) place[k][lane] = of_lane[k];
    }
    cudaMalloc(&device_place, sizeof place);
    cudaMalloc(&device_kept, sizeof kept);
    cudaMemcpy(device_place, place, sizeof place, cudaMemcpyHostToDevice);
    for (unsigned mask : {~0u, 0x0ff0ff00u, 0xaaaaaaaau})
        for (int k = 0; k < PATTERNS; ++k) {
            cudaMemset(device_kept, 0, sizeof kept);
            store<T><<<1, LANES>>>(device_place + LANES * k, device_kept, in_shared, mask);
            cudaMemcpy(kept, device_kept, sizeof kept, cudaMemcpyDeviceToHost);
            int lowest = 0, highest = 0, other = 0;
            for (int at = 0; at < LANES; ++at) {
                int first = -1, last = -1;
                for (int lane = 0; lane < LANES; ++lane) {
                    if (!(mask >> lane & 1) || place[k][lane] != at) continue;
                    if (first < 0) first = lane;
                    last = lane;
                }
                if (first == last) continue;
                const int winner = int(kept[at]) - 1;
                ++(winner == first ? lowest : winner == last ? highest : other);
            }
            std::printf("%s %s mask %08x pattern %d: lowest %d highest %d other %d\n", name,
                        in_shared ? "shared" : "global", mask, k, lowest, highest, other);
        }
}

int main() {
    for (bool in_shared : {false, true}) {
        test<unsigned char>("u8", in_shared);
        test<short>("s16", in_shared);
        test<int>("s32", in_shared);
        test<double>("f64", in_shared);
    }
}
