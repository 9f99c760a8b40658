// Quantum computing: n states of 14 qubits. Each is prepared, then one qubit is rotated, then
// another where a third one is set. A thread changes a pair of amplitudes in place.
//
//     nvcc -O2 -o qubit_gates qubit_gates.cu && ./qubit_gates 2000

#include "../host.h"

#define QUBITS 14
#define AMPLITUDES (1 << QUBITS)

struct Gate {
    float2 a, b, c, d;
};

__host__ __device__ inline float2 times(float2 x, float2 y) {
    return make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

__host__ __device__ inline float2 sum(float2 x, float2 y) {
    return make_float2(x.x + y.x, x.y + y.y);
}

__host__ __device__ inline float2 prepared(int state, int index) {
    const uint32_t bits = mixed(state * 40503u + index);
    return make_float2((bits & 0xffff) * (1.0f / 65536) - 0.5f,
                       (bits >> 16) * (1.0f / 65536) - 0.5f);
}

__global__ void prepare(float2 *states, int count) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    const int state = blockIdx.y * blockDim.y + threadIdx.y;
    if (index < AMPLITUDES && state < count)
        states[(size_t)state * AMPLITUDES + index] = prepared(state, index);
}

template <bool CONTROLLED>
__global__ void apply_gate(float2 *states, Gate gate, int target, int control, int count) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const int state = blockIdx.y * blockDim.y + threadIdx.y;
    if (pair >= AMPLITUDES / 2 || state >= count) return;
    const int below = pair & ((1 << target) - 1);
    const int low = (pair - below) * 2 + below, high = low | 1 << target;
    if (CONTROLLED && !(low >> control & 1)) return;
    float2 *amplitudes = states + (size_t)state * AMPLITUDES;
    const float2 zero = amplitudes[low], one = amplitudes[high];
    amplitudes[low] = sum(times(gate.a, zero), times(gate.b, one));
    amplitudes[high] = sum(times(gate.c, zero), times(gate.d, one));
}

// What becomes of an amplitude, from those before by `before(index)`.
template <class Before>
float2 after_gate(const Gate &gate, int target, int index, Before before) {
    const float2 zero = before(index & ~(1 << target)), one = before(index | 1 << target);
    return index >> target & 1 ? sum(times(gate.c, zero), times(gate.d, one))
                               : sum(times(gate.a, zero), times(gate.b, one));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 60000);
    const int first_target = 6, second_target = 1, control = 9;
    const Gate turn = {{0.8f, 0.0f}, {0.0f, -0.6f}, {0.0f, -0.6f}, {0.8f, 0.0f}};
    const Gate phase = {{0.6f, 0.0f}, {-0.8f, 0.0f}, {0.0f, 0.8f}, {0.0f, 0.6f}};
    float2 *d_states;
    CHECK(cudaMalloc((void **)&d_states, sizeof(float2) * AMPLITUDES * n));

    const dim3 block(256, 1);
    const unsigned rows = (n + block.y - 1) / block.y;
    const dim3 all((AMPLITUDES + block.x - 1) / block.x, rows);
    const dim3 pairs((AMPLITUDES / 2 + block.x - 1) / block.x, rows);
    prepare<<<all, block>>>(d_states, n);
    apply_gate<false><<<pairs, block>>>(d_states, turn, first_target, 0, n);
    apply_gate<true><<<pairs, block>>>(d_states, phase, second_target, control, n);
    finish_launches();

    // The first state, one in the middle, and the last one.
    double error = 0.0;
    for (const int state : {0, n / 2, n - 1}) {
        const float *start = (const float *)(d_states + (size_t)state * AMPLITUDES);
        error = fmax(error, sampled_error(from_device(start, 2 * AMPLITUDES), [&](size_t e) {
            const auto turned = [&](int at) {
                return after_gate(turn, first_target, at,
                                  [&](int from) { return prepared(state, from); });
            };
            const int index = (int)(e / 2);
            const float2 wanted = index >> control & 1
                                      ? after_gate(phase, second_target, index, turned)
                                      : turned(index);
            return e % 2 == 0 ? wanted.x : wanted.y;
        }));
    }
    return verdict(error);
}
