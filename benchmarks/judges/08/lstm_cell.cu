// The pointwise part of an LSTM cell in half precision: four gates of 1000 units, for n sequences,
// become the new cell state, kept as floats, and the output. Two units per thread.
//
//     nvcc -O2 -o lstm_cell lstm_cell.cu && ./lstm_cell 1000

#include <cuda_fp16.h>

#include "../host.h"

#define UNITS 1000

__host__ __device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__host__ __device__ inline float new_cell(float in, float forget, float candidate, float cell) {
    return sigmoid(forget) * cell + sigmoid(in) * tanhf(candidate);
}

__global__ void lstm_cell(const __half2 *__restrict__ gates, float2 *cells,
                          __half2 *__restrict__ hidden, int pairs, int pairs_per_row) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= pairs) return;
    int row = idx / pairs_per_row, unit = idx % pairs_per_row;
    const __half2 *own = gates + 4 * (size_t)row * pairs_per_row + unit;
    float2 in = __half22float2(own[0]);
    float2 forget = __half22float2(own[pairs_per_row]);
    float2 candidate = __half22float2(own[2 * pairs_per_row]);
    float2 out = __half22float2(own[3 * pairs_per_row]);
    float2 cell = cells[idx];
    cell.x = new_cell(in.x, forget.x, candidate.x, cell.x);
    cell.y = new_cell(in.y, forget.y, candidate.y, cell.y);
    cells[idx] = cell;
    hidden[idx] = __floats2half2_rn(sigmoid(out.x) * tanhf(cell.x),
                                    sigmoid(out.y) * tanhf(cell.y));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 19);
    const size_t count = (size_t)n * UNITS;
    // Without the upper bit of its exponent a half is between -2 and 2.
    std::vector<unsigned short> gate_bits = quick_bits<unsigned short>(4 * count, 1);
    for (unsigned short &bits : gate_bits) bits &= 0xbfff;
    const std::vector<float> cells = quick_values(count, 2);
    const __half2 *d_gates = (const __half2 *)to_device(gate_bits);
    float *d_cells = to_device(cells);
    __half *d_hidden = device_zeros<__half>(count);

    const int pairs = (int)(count / 2), threads = 256;
    lstm_cell<<<(pairs + threads - 1) / threads, threads>>>(d_gates, (float2 *)d_cells,
                                                            (__half2 *)d_hidden, pairs, UNITS / 2);
    finish_launches();

    const auto gate = [&](size_t e, int which) {
        __half value;
        memcpy(&value, &gate_bits[(4 * (e / UNITS) + which) * UNITS + e % UNITS], sizeof(value));
        return __half2float(value);
    };
    const auto cell_at = [&](size_t e) {
        return new_cell(gate(e, 0), gate(e, 1), gate(e, 2), cells[e]);
    };
    const double error = sampled_error(from_device(d_cells, count), cell_at);
    // The output has eleven bits: a difference of one in the last is no error.
    const std::vector<__half> hidden = from_device(d_hidden, count);
    std::vector<float> beyond(1000);
    for (size_t s = 0; s < beyond.size(); s++) {
        const size_t e = s * (count / beyond.size());
        const float wanted = sigmoid(gate(e, 3)) * tanhf(cell_at(e));
        const float difference = fabsf(__half2float(hidden[e]) - wanted);
        beyond[s] = fmaxf(difference - 0.001f * fabsf(wanted) - 1e-6f, 0.0f);
    }
    return verdict(error + sampled_error(beyond, [](size_t) { return 0.0f; }));
}
