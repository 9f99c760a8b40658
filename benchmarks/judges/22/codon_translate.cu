// Genomics: n codons to amino acids by a table in constant memory; the bases are letters.
//
//     nvcc -O2 -o codon_translate codon_translate.cu && ./codon_translate 500000

#include "summed.h"

static const char *genetic_code =
    "KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF";

__constant__ char d_code[64];

__host__ __device__ inline int base_index(char b) {
    switch (b) {
        case 'A': return 0;
        case 'C': return 1;
        case 'G': return 2;
        case 'T': return 3;
        default: return -1;
    }
}

__global__ void translate(const char *dna, char *protein, int codons) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= codons) return;
    int a = base_index(dna[3 * i]), b = base_index(dna[3 * i + 1]), c = base_index(dna[3 * i + 2]);
    protein[i] = a < 0 || b < 0 || c < 0 ? 'X' : d_code[16 * a + 4 * b + c];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 300000000);
    std::vector<char> dna(3 * (size_t)n);
    for (size_t i = 0; i < dna.size(); i++) {
        const uint32_t bits = mixed((uint32_t)i);
        dna[i] = bits % 500 == 0 ? 'N' : "ACGT"[bits >> 30];
    }
    char *d_dna = to_device(dna), *d_protein = device_zeros<char>(n);
    CHECK(cudaMemcpyToSymbol(d_code, genetic_code, 64));

    translate<<<(n + 1023) / 1024, 1024>>>(d_dna, d_protein, n);
    finish_launches();

    const std::vector<char> protein = from_device(d_protein, n);
    say_sum("letters", protein);
    return verdict(sampled_error(protein, [&](size_t e) {
        const int a = base_index(dna[3 * e]), b = base_index(dna[3 * e + 1]),
                  c = base_index(dna[3 * e + 2]);
        return a < 0 || b < 0 || c < 0 ? 'X' : genetic_code[16 * a + 4 * b + c];
    }));
}
