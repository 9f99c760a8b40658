// Robotics: n postures of an arm of seven joints. Where its tool is, and how freely it can move it
// there: the root of the determinant of J times J transposed. Angles lie joint by joint, the links
// in constant memory.
//
//     nvcc -O2 -o arm_reach arm_reach.cu && ./arm_reach 400000

#include "../host.h"

#define JOINTS 7

struct Link {
    float offset, length, cosine, sine;
};

__constant__ Link links[JOINTS];

// Follows the joints from the base; angles are `stride` apart.
__host__ __device__ inline float4 reach(const float *angles, size_t stride, const Link *link) {
    float axis[JOINTS][3], place[JOINTS][3];
    float x[3] = {1.0f, 0.0f, 0.0f}, y[3] = {0.0f, 1.0f, 0.0f}, z[3] = {0.0f, 0.0f, 1.0f};
    float at[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int j = 0; j < JOINTS; j++) {
        const float c = cosf(angles[j * stride]), s = sinf(angles[j * stride]);
        const Link l = link[j];
#pragma unroll
        for (int k = 0; k < 3; k++) {
            axis[j][k] = z[k];
            place[j][k] = at[k];
            const float along = c * x[k] + s * y[k], aside = c * y[k] - s * x[k];
            at[k] += l.offset * z[k] + l.length * along;
            x[k] = along;
            y[k] = l.cosine * aside + l.sine * z[k];
            z[k] = l.cosine * z[k] - l.sine * aside;
        }
    }
    float xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
#pragma unroll
    for (int j = 0; j < JOINTS; j++) {
        const float dx = at[0] - place[j][0], dy = at[1] - place[j][1], dz = at[2] - place[j][2];
        const float jx = axis[j][1] * dz - axis[j][2] * dy;
        const float jy = axis[j][2] * dx - axis[j][0] * dz;
        const float jz = axis[j][0] * dy - axis[j][1] * dx;
        xx += jx * jx;
        xy += jx * jy;
        xz += jx * jz;
        yy += jy * jy;
        yz += jy * jz;
        zz += jz * jz;
    }
    const float determinant = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) +
                              xz * (xy * yz - yy * xz);
    return make_float4(at[0], at[1], at[2], sqrtf(fmaxf(determinant, 0.0f)));
}

__global__ void tool_reach(const float *__restrict__ angles, float4 *__restrict__ tools, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    tools[i] = reach(angles + i, n, links);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 300000000);
    std::vector<float> angles = quick_values((size_t)JOINTS * n, 1603);
    for (float &angle : angles) angle = 5.0f * angle - 2.5f;
    const float quarter[JOINTS] = {-1.0f, 1.0f, 1.0f, -1.0f, -1.0f, 1.0f, 0.0f};
    const float offsets[JOINTS] = {0.34f, 0.0f, 0.4f, 0.02f, 0.4f, 0.01f, 0.126f};
    const float lengths[JOINTS] = {0.05f, 0.0f, 0.04f, -0.03f, 0.0f, 0.08f, 0.02f};
    std::vector<Link> own(JOINTS);
    for (int j = 0; j < JOINTS; j++) {
        const Link link = {offsets[j], lengths[j], quarter[j] == 0.0f ? 1.0f : 0.0f, quarter[j]};
        own[j] = link;
    }
    CHECK(cudaMemcpyToSymbol(links, own.data(), JOINTS * sizeof(Link)));
    const float *d_angles = to_device(angles);
    float *d_tools = device_zeros<float>(4 * (size_t)n);

    const int threads = 192;
    const int blocks = (n + threads - 1) / threads;
    tool_reach<<<blocks, threads>>>(d_angles, (float4 *)d_tools, n);
    finish_launches();

    const std::vector<float> tools = from_device(d_tools, 4 * (size_t)n);
    return verdict(sampled_error(tools, [&](size_t e) {
        const float4 tool = reach(angles.data() + e / 4, n, own.data());
        const float parts[4] = {tool.x, tool.y, tool.z, tool.w};
        return parts[e % 4];
    }));
}
