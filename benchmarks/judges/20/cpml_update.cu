// Electromagnetics: a step of Yee's method for one component in n x n x n cells, with absorbing
// layers at both ends of the first axis that keep an array of their own. As in NumPy the last axis
// lies in a row, and it is that of threadIdx.z.
//
//     nvcc -O2 -o cpml_update cpml_update.cu && ./cpml_update 96

#include "../host.h"

#define LAYERS 6
#define MATERIALS 16

struct Layer {
    float b, c, kappa;
};

__constant__ float2 materials[MATERIALS];
__constant__ Layer layers[2 * LAYERS];

__global__ void update_ez(float *__restrict__ ez, const float *__restrict__ hx,
                          const float *__restrict__ hy, const unsigned char *__restrict__ material,
                          float *__restrict__ psi, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || i >= n || j >= n || k >= n) return;
    const size_t plane = (size_t)n * n, at = i * plane + (size_t)j * n + k;
    const float2 own = materials[material[at] % MATERIALS];
    float along = hy[at] - hy[at - plane];
    const float across = hx[at] - hx[at - n];
    const int layer = i < LAYERS ? i : i >= n - LAYERS ? i - n + 2 * LAYERS : -1;
    if (layer >= 0) {
        const Layer l = layers[layer];
        const size_t kept = layer * plane + (size_t)j * n + k;
        const float changed = l.b * psi[kept] + l.c * along;
        psi[kept] = changed;
        along = along * l.kappa + changed;
    }
    ez[at] = own.x * ez[at] + own.y * (along - across);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 700);
    if (n < 2 * LAYERS) {
        fprintf(stderr, "at least %d cells\n", 2 * LAYERS);
        return 2;
    }
    const size_t plane = (size_t)n * n, count = plane * n;
    const std::vector<float> ez = quick_values(count, 2041), hx = quick_values(count, 2042);
    const std::vector<float> hy = quick_values(count, 2043);
    const std::vector<float> psi = quick_values(2 * LAYERS * plane, 2044);
    std::vector<uint8_t> material(count);
    for (size_t i = 0; i < count; i++) material[i] = (uint8_t)(i / 37 % MATERIALS);
    std::vector<float2> own(MATERIALS);
    for (int m = 0; m < MATERIALS; m++) own[m] = make_float2(1.0f - 0.01f * m, 0.5f - 0.02f * m);
    std::vector<Layer> absorbing(2 * LAYERS);
    for (int l = 0; l < 2 * LAYERS; l++) {
        const float depth = (l < LAYERS ? LAYERS - l : l - LAYERS + 1) / (float)LAYERS;
        absorbing[l] = {expf(-depth), 0.4f * (expf(-depth) - 1.0f), 1.0f / (1.0f + 4.0f * depth)};
    }
    CHECK(cudaMemcpyToSymbol(materials, own.data(), MATERIALS * sizeof(float2)));
    CHECK(cudaMemcpyToSymbol(layers, absorbing.data(), 2 * LAYERS * sizeof(Layer)));
    float *d_ez = to_device(ez), *d_psi = to_device(psi);
    const float *d_hx = to_device(hx), *d_hy = to_device(hy);
    const uint8_t *d_material = to_device(material);

    dim3 block(8, 8, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    update_ez<<<grid, block>>>(d_ez, d_hx, d_hy, d_material, d_psi, n);
    finish_launches();

    const std::vector<float> stepped = from_device(d_ez, count);
    return verdict(sampled_error(stepped, [&](size_t at) {
        const int i = (int)(at / plane), j = (int)(at / n % n);
        if (i < 1 || j < 1) return ez[at];
        float along = hy[at] - hy[at - plane];
        const int layer = i < LAYERS ? i : i >= n - LAYERS ? i - n + 2 * LAYERS : -1;
        if (layer >= 0) {
            const Layer l = absorbing[layer];
            along = along * l.kappa + l.b * psi[layer * plane + at % plane] + l.c * along;
        }
        const float2 m = own[material[at] % MATERIALS];
        return m.x * ez[at] + m.y * (along - hx[at] + hx[at - n]);
    }));
}
