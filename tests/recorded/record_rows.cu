// What rows that a block goes through in several passes find in L1 and L2: made rows_h200.txt, which
// the model's constants of `performance/rereads.py` are fitted to.
//
//     nvcc -O3 -arch=sm_90 -o record_rows record_rows.cu
//     ncu --csv --page raw --metrics l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,...lookup_hit.sum,
//         dram__bytes_read.sum ./record_rows
//
// A line per launch: passes, which of them stores a second row ("first": the others read that one),
// threads of a block, 1 where all blocks start at once (else there are four waves), blocks of an SM,
// floats of a row; then of what is read again, the share that hits L1, and of the rest the share that
// comes from DRAM ("-" where hardly anything misses).
#include <cstdio>

constexpr size_t BYTES = 3ull << 30;
constexpr int KIBIBYTES[] = {32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640};

__global__ void walk(const float* in, float* out, int n, int passes, int stores) {
    const float* row = in + (size_t)blockIdx.x * n;
    float* other = out + (size_t)blockIdx.x * n;
    float sum = 0;
    for (int p = 0; p < passes; p++) {
#pragma unroll 4
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            const float x = stores == 2 && p ? other[i] : row[i];
            sum += x;
            if ((stores == 1 && p == passes - 1) || (stores == 2 && p == 0)) other[i] = x + sum;
        }
        sum = sum * 0.5f;
        __syncthreads();
    }
    if (sum == 12345.0f) out[0] = sum;
}

int main() {
    float *in, *out;
    cudaMalloc(&in, BYTES);
    cudaMalloc(&out, BYTES);
    for (int passes : {2, 3})
        for (int stores : {0, 1, 2})
            for (int threads : {64, 256, 1024})
                for (int few : {1, 2, 4, 8, 0})
                    for (int kibibytes : KIBIBYTES) {
                        if (stores == 2 && passes == 3) continue;
                        if (few && (passes == 3 || stores || threads != 256)) continue;
                        int blocks = few;
                        if (!few)
                            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, walk, threads, 0);
                        const int n = kibibytes * 256 / blocks / 32 * 32;
                        walk<<<132 * blocks * (few ? 1 : 4), threads>>>(in, out, n, passes, stores);
                        printf("%d %d %d %d %d %d\n", passes, stores, threads, few != 0, blocks, n);
                    }
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
