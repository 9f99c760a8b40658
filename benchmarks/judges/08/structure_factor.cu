// The strength of X-ray scattering at n wave vectors from a crystal of n atoms: the squared sum of
// the atoms' waves, sines and cosines of all pairs.
//
//     nvcc -O2 -o structure_factor structure_factor.cu && ./structure_factor 5000

#include "../host.h"

__global__ void structure_factor(const float4 *atoms, int num_atoms, const float *hx,
                                 const float *hy, const float *hz, float *intensity,
                                 int num_waves) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= num_waves) return;
    float x = hx[q], y = hy[q], z = hz[q];
    float real = 0.0f, imaginary = 0.0f;
    for (int a = 0; a < num_atoms; a++) {
        float4 atom = atoms[a];
        float turns = x * atom.x + y * atom.y + z * atom.z;
        float sine, cosine;
        sincospif(2.0f * (turns - rintf(turns)), &sine, &cosine);
        real += atom.w * cosine;
        imaginary += atom.w * sine;
    }
    intensity[q] = (real * real + imaginary * imaginary) / num_atoms;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 1 << 20);
    const std::vector<float> numbers = quick_values(4 * (size_t)n, 1);
    std::vector<float4> atoms(n);
    for (int a = 0; a < n; a++)
        atoms[a] = make_float4(numbers[4 * a], numbers[4 * a + 1], numbers[4 * a + 2],
                               6.0f + 10.0f * numbers[4 * a + 3]);
    // Short wave vectors, in all directions.
    std::vector<float> h[3];
    for (int axis = 0; axis < 3; axis++) {
        h[axis] = quick_values(n, axis + 2);
        for (float &component : h[axis]) component = 6.0f * component - 3.0f;
    }
    const float4 *d_atoms = to_device(atoms);
    const float *d_h[3] = {to_device(h[0]), to_device(h[1]), to_device(h[2])};
    float *d_intensity = device_zeros<float>(n);

    const int threads = 128;
    structure_factor<<<(n + threads - 1) / threads, threads>>>(d_atoms, n, d_h[0], d_h[1], d_h[2],
                                                               d_intensity, n);
    finish_launches();

    // About 30 waves: sines and cosines take the host long.
    const std::vector<float> intensity = from_device(d_intensity, n);
    std::vector<float> sample;
    const size_t step = n / 30 + 1;
    for (size_t q = 0; q < (size_t)n; q += step) sample.push_back(intensity[q]);
    return verdict(sampled_error(sample, [&](size_t s) {
        const size_t q = s * step;
        double real = 0.0, imaginary = 0.0;
        for (const float4 &atom : atoms) {
            const double turns = (double)h[0][q] * atom.x + (double)h[1][q] * atom.y +
                                 (double)h[2][q] * atom.z;
            real += atom.w * cos(2.0 * M_PI * turns);
            imaginary += atom.w * sin(2.0 * M_PI * turns);
        }
        return (real * real + imaginary * imaginary) / n;
    }));
}
