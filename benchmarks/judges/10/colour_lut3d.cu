// Colour grading: each pixel of an image n wide is looked up in a table of 33 x 33 x 33 colours and
// interpolated in one of the six tetrahedra of its cell.
//
//     nvcc -O2 -o colour_lut3d colour_lut3d.cu && ./colour_lut3d 1000

#include "../host.h"

#define NODES 33

__host__ __device__ inline float3 blended(const float4 &p, const float4 &q, const float4 &r,
                                          const float4 &s, float high, float middle, float low) {
    const float a = 1.0f - high, b = high - middle, c = middle - low;
    return make_float3(a * p.x + b * q.x + c * r.x + low * s.x,
                       a * p.y + b * q.y + c * r.y + low * s.y,
                       a * p.z + b * q.z + c * r.z + low * s.z);
}

__host__ __device__ inline uchar4 graded(const float4 *table, const uchar4 &pixel) {
    // Nodes are eight levels apart.
    const int red = 1, green = NODES, blue = NODES * NODES;
    const float4 *cell = table + ((pixel.z >> 3) * NODES + (pixel.y >> 3)) * NODES + (pixel.x >> 3);
    const float r = (pixel.x & 7) * 0.125f, g = (pixel.y & 7) * 0.125f;
    const float b = (pixel.z & 7) * 0.125f;
    const float4 first = cell[0], last = cell[red + green + blue];
    float3 colour;
    if (r >= g) {
        if (g >= b)
            colour = blended(first, cell[red], cell[red + green], last, r, g, b);
        else if (r >= b)
            colour = blended(first, cell[red], cell[red + blue], last, r, b, g);
        else
            colour = blended(first, cell[blue], cell[blue + red], last, b, r, g);
    } else {
        if (r >= b)
            colour = blended(first, cell[green], cell[green + red], last, g, r, b);
        else if (g >= b)
            colour = blended(first, cell[green], cell[green + blue], last, g, b, r);
        else
            colour = blended(first, cell[blue], cell[blue + green], last, b, g, r);
    }
    return make_uchar4((unsigned char)(colour.x * 255.0f + 0.5f),
                       (unsigned char)(colour.y * 255.0f + 0.5f),
                       (unsigned char)(colour.z * 255.0f + 0.5f), pixel.w);
}

__global__ void grade(const uchar4 *__restrict__ image, const float4 *__restrict__ table,
                      uchar4 *__restrict__ out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = graded(table, image[y * width + x]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 20000);
    const int width = n, height = n / 16 * 9 + 1;
    const size_t count = (size_t)width * height;
    // Broad waves with some noise; a table of multiples of 1/1024, so that the results are exact.
    std::vector<uchar4> image(count);
    for (size_t e = 0; e < count; e++) {
        const int x = (int)(e % width), y = (int)(e / width), wave = (x / 2 + y) & 511;
        const int red = wave < 256 ? wave : 511 - wave, green = (x * 255) / width;
        const uint32_t noise = mixed((uint32_t)e);
        image[e] = make_uchar4((unsigned char)(red ^ (noise & 15)),
                               (unsigned char)(green ^ (noise >> 8 & 15)),
                               (unsigned char)((red + green) / 2 ^ (noise >> 16 & 15)), 255);
    }
    std::vector<float> table(4 * NODES * NODES * NODES, 0.0f);
    for (size_t e = 0; e < table.size(); e++)
        table[e] = (float)(mixed((uint32_t)e) >> 22) * (1.0f / 1024.0f);
    const uchar4 *d_image = to_device(image);
    const float4 *d_table = (const float4 *)to_device(table);
    unsigned char *d_out = device_zeros<unsigned char>(4 * count);

    dim3 block(32, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    grade<<<grid, block>>>(d_image, d_table, (uchar4 *)d_out, width, height);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, 4 * count), [&](size_t e) {
        const uchar4 wanted = graded((const float4 *)table.data(), image[e / 4]);
        return e % 4 == 0 ? wanted.x : e % 4 == 1 ? wanted.y : e % 4 == 2 ? wanted.z : wanted.w;
    }));
}
