// Communications: Viterbi decoding of n frames of 512 bits, sent by the convolutional code of
// rate 1/2 with 64 states. A block of 64 threads, one per state, goes through a frame with the
// metrics in shared memory and leaves its decisions; then a thread per frame traces them back.
//
//     nvcc -O2 -o viterbi_k7 viterbi_k7.cu && ./viterbi_k7 10000

#include "../host.h"

#define STATES 64
#define BITS 512

// The two bits sent when `bit` enters a register of six bits, as 0 and 1.
__host__ __device__ inline int sent(int state, int bit) {
    uint32_t window = (uint32_t)(bit << 6 | state);
    uint32_t first = window & 0171, second = window & 0133;
    first ^= first >> 4;
    second ^= second >> 4;
    // The parities of 0 to 15.
    return (0x6996 >> (first & 15) & 1) | (0x6996 >> (second & 15) & 1) << 1;
}

__host__ __device__ inline int distance(char2 seen, int pair) {
    return (pair & 1 ? -seen.x : seen.x) + (pair & 2 ? -seen.y : seen.y);
}

__global__ void add_compare_select(const char2 *__restrict__ received,
                                   unsigned char *__restrict__ decisions) {
    __shared__ int metrics[2][STATES];
    const int state = threadIdx.x;
    const int bit = state >> 5, even = state << 1 & 63, odd = even | 1;
    const int even_pair = sent(even, bit), odd_pair = sent(odd, bit);
    metrics[0][state] = state == 0 ? 0 : 10000;
    __syncthreads();
    for (int t = 0; t < BITS; t++) {
        const char2 seen = received[(size_t)blockIdx.x * BITS + t];
        const int *before = metrics[t & 1];
        const int by_even = before[even] + distance(seen, even_pair);
        const int by_odd = before[odd] + distance(seen, odd_pair);
        metrics[~t & 1][state] = by_odd < by_even ? by_odd : by_even;
        decisions[((size_t)blockIdx.x * BITS + t) * STATES + state] = by_odd < by_even;
        __syncthreads();
    }
}

// The last six bits are zeros, so that a frame ends in state 0.
__global__ void trace_back(const unsigned char *__restrict__ decisions,
                           unsigned char *__restrict__ decoded, int frames) {
    const int frame = blockIdx.x * blockDim.x + threadIdx.x;
    if (frame >= frames) return;
    int state = 0;
    for (int t = BITS - 1; t >= 0; t--) {
        const size_t at = (size_t)frame * BITS + t;
        decoded[at] = (unsigned char)(state >> 5);
        state = (state << 1 & 63) | decisions[at * STATES + state];
    }
}

static std::vector<unsigned char> decode(const char2 *received) {
    std::vector<int> before(STATES, 10000), after(STATES);
    before[0] = 0;
    std::vector<unsigned char> decisions(BITS * STATES), decoded(BITS);
    for (int t = 0; t < BITS; t++) {
        for (int state = 0; state < STATES; state++) {
            const int bit = state >> 5, even = state << 1 & 63, odd = even | 1;
            const int by_even = before[even] + distance(received[t], sent(even, bit));
            const int by_odd = before[odd] + distance(received[t], sent(odd, bit));
            after[state] = by_odd < by_even ? by_odd : by_even;
            decisions[t * STATES + state] = by_odd < by_even;
        }
        before.swap(after);
    }
    int state = 0;
    for (int t = BITS - 1; t >= 0; t--) {
        decoded[t] = (unsigned char)(state >> 5);
        state = (state << 1 & 63) | decisions[t * STATES + state];
    }
    return decoded;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 200000);
    const size_t count = (size_t)n * BITS;
    std::vector<char2> received(count);
    for (int frame = 0; frame < n; frame++) {
        int state = 0;
        for (int t = 0; t < BITS; t++) {
            const uint32_t bits = mixed(frame * BITS + t + 7u);
            const int bit = t < BITS - 6 ? bits & 1 : 0, pair = sent(state, bit);
            // A one is sent as 20, a zero as -20; the noise may turn it.
            const int noise_x = (int)(bits >> 8 & 63) - 32, noise_y = (int)(bits >> 16 & 63) - 32;
            received[(size_t)frame * BITS + t] = {(signed char)((pair & 1 ? 20 : -20) + noise_x),
                                                  (signed char)((pair & 2 ? 20 : -20) + noise_y)};
            state = bit << 5 | state >> 1;
        }
    }
    const char2 *d_received = to_device(received);
    unsigned char *d_decisions = device_zeros<unsigned char>(count * STATES);
    unsigned char *d_decoded = device_zeros<unsigned char>(count);

    add_compare_select<<<n, STATES>>>(d_received, d_decisions);
    trace_back<<<(n + 127) / 128, 128>>>(d_decisions, d_decoded, n);
    finish_launches();

    // A frame is decoded here once for all of its samples.
    size_t last_frame = count;
    std::vector<unsigned char> frame_bits;
    return verdict(sampled_error(from_device(d_decoded, count), [&](size_t e) {
        const size_t frame = e / BITS;
        if (frame != last_frame) frame_bits = decode(&received[frame * BITS]);
        last_frame = frame;
        return frame_bits[e % BITS];
    }));
}
