// Animation: n rotations between those of two key frames, by spherical interpolation of
// quaternions; a straight line where the two are close.
//
//     nvcc -O2 -o slerp_poses slerp_poses.cu && ./slerp_poses 50000

#include "checked.h"

struct Quaternion {
    float w, x, y, z;

    __host__ __device__ float dot(const Quaternion &o) const {
        return w * o.w + x * o.x + y * o.y + z * o.z;
    }
};

__global__ void slerp(const Quaternion *from, const Quaternion *to, Quaternion *pose, int bones,
                      float t) {
    const int bone = blockDim.x * blockIdx.x + threadIdx.x;
    if (bone >= bones) return;
    const Quaternion a = from[bone], b = to[bone];
    float cosine = a.dot(b);
    const float side = cosine < 0.0f ? -1.0f : 1.0f;
    cosine *= side;
    float u = 1.0f - t, v = t;
    if (cosine < 0.9995f) {
        const float angle = acosf(cosine), scale = 1.0f / sinf(angle);
        u = sinf(u * angle) * scale;
        v = sinf(v * angle) * scale;
    }
    v *= side;
    Quaternion p = {u * a.w + v * b.w, u * a.x + v * b.x, u * a.y + v * b.y, u * a.z + v * b.z};
    const float norm = rsqrtf(p.dot(p));
    p.w *= norm;
    p.x *= norm;
    p.y *= norm;
    p.z *= norm;
    pose[bone] = p;
}

static std::vector<Quaternion> rotations(int count, uint32_t seed) {
    std::vector<Quaternion> all(count);
    for (int i = 0; i < count; i++) {
        float part[4];
        for (int k = 0; k < 4; k++)
            part[k] = (float)(mixed(seed + 4u * i + k) >> 8) / 8388608.0f - 0.99f;
        const Quaternion q = {part[0], part[1], part[2], part[3]};
        const float norm = 1.0f / sqrtf(q.dot(q));
        all[i] = {q.w * norm, q.x * norm, q.y * norm, q.z * norm};
    }
    return all;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 40000000);
    const std::vector<Quaternion> from = rotations(n, 3091u);
    std::vector<Quaternion> to = rotations(n, 913091u);
    for (int i = 0; i < n; i += 16) to[i] = from[i];
    const Quaternion *d_from = to_device(from), *d_to = to_device(to);
    Quaternion *d_pose = device_zeros<Quaternion>(n);
    const float t = 0.3f;

    slerp<<<(n + 255) / 256, 256>>>(d_from, d_to, d_pose, n, t);
    finish_launches();

    const std::vector<Quaternion> poses = from_device(d_pose, n);
    std::vector<float> w(n);
    for (int i = 0; i < n; i++)
        w[i] = poses[i].w + 2 * poses[i].x + 3 * poses[i].y + 4 * poses[i].z;
    say_sum("rotations", w);
    return verdict(sampled_error(w, [&](size_t i) {
        const Quaternion a = from[i], b = to[i];
        const double cosine =
            (double)a.w * b.w + (double)a.x * b.x + (double)a.y * b.y + (double)a.z * b.z;
        const double side = cosine < 0.0 ? -1.0 : 1.0;
        const double angle = acos(fmin(1.0, side * cosine));
        double u = 1.0 - t, v = t;
        if (side * cosine < 0.9995) {
            u = sin(u * angle) / sin(angle);
            v = sin(v * angle) / sin(angle);
        }
        v *= side;
        const double q[4] = {u * a.w + v * b.w, u * a.x + v * b.x, u * a.y + v * b.y,
                             u * a.z + v * b.z};
        const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        return (q[0] + 2 * q[1] + 3 * q[2] + 4 * q[3]) / norm;
    }));
}
