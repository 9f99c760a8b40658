// Linkage disequilibrium of n genetic markers: r squared of each pair, from the alleles of 1536
// chromosomes, one bit each. A word holds 32 chromosomes; words of all markers lie side by side.
//
//     nvcc -O2 -o linkage_r2 linkage_r2.cu && ./linkage_r2 1000

#include "../host.h"

#define WORDS 48
#define CHROMOSOMES (WORDS * 32)

__host__ __device__ inline float r_squared(int a, int b, int both) {
    const float scale = 1.0f / CHROMOSOMES;
    const float pa = a * scale, pb = b * scale;
    const float variance = pa * (1.0f - pa) * pb * (1.0f - pb);
    const float covariance = both * scale - pa * pb;
    return variance > 0.0f ? covariance * covariance / variance : 0.0f;
}

__global__ void allele_counts(const unsigned *__restrict__ alleles, int *__restrict__ counts,
                              int n) {
    const int marker = blockIdx.x * blockDim.x + threadIdx.x;
    if (marker >= n) return;
    int count = 0;
    for (int w = 0; w < WORDS; w++) count += __popc(alleles[(size_t)w * n + marker]);
    counts[marker] = count;
}

__global__ void marker_pairs(const unsigned *__restrict__ alleles, const int *__restrict__ counts,
                             float *__restrict__ linkage, int n) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    int both = 0;
    for (int w = 0; w < WORDS; w++) {
        const unsigned *word = alleles + (size_t)w * n;
        both += __popc(word[row] & word[column]);
    }
    linkage[(size_t)row * n + column] = r_squared(counts[row], counts[column], both);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 60000);
    std::vector<unsigned> alleles = quick_bits<unsigned>((size_t)WORDS * n, 1601);
    // Rare alleles at every third marker.
    for (size_t i = 0; i < alleles.size(); i++)
        if (i % n % 3 == 0) alleles[i] &= alleles[i] >> 7 & 0x5f3759dfu;
    const unsigned *d_alleles = to_device(alleles);
    int *d_counts = device_zeros<int>(n);
    float *d_linkage = device_zeros<float>((size_t)n * n);

    const int threads = 128;
    allele_counts<<<(n + threads - 1) / threads, threads>>>(d_alleles, d_counts, n);
    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    marker_pairs<<<grid, block>>>(d_alleles, d_counts, d_linkage, n);
    finish_launches();

    const std::vector<float> linkage = from_device(d_linkage, (size_t)n * n);
    const auto ones = [](unsigned word) {
        int count = 0;
        for (; word != 0; word &= word - 1) count++;
        return count;
    };
    return verdict(sampled_error(linkage, [&](size_t e) {
        const size_t row = e / n, column = e % n;
        int a = 0, b = 0, both = 0;
        for (size_t w = 0; w < WORDS; w++) {
            const unsigned left = alleles[w * n + row], right = alleles[w * n + column];
            a += ones(left);
            b += ones(right);
            both += ones(left & right);
        }
        return r_squared(a, b, both);
    }));
}
