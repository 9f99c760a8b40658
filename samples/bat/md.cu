// MD: forces between atoms by the potential of Lennard and Jones, from lists of neighbours, with
// every parameter of the benchmark suite BAT.
//
//   md N [REPETITIONS]           atoms, how often the forces are computed in the region
//   md -s CLASS [REPETITIONS]    1 to 4: 12288, 24576, 36864, 73728 atoms
//
// Prints pairs of atoms per second where time passes, and checks each force. Exit status: 0 right,
// 1 wrong, 2 misuse.
//
// Lengths are in units of sigma, energies of epsilon: V(r) = 4 (r^-12 - r^-6) below the cutoff.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "bat.h"

// 32 or 64 bits. Times of the two compare different work: a rate, or one of them, is chosen.
#pragma cutune tune(PRECISION: 32, 64)
#ifndef PRECISION
#define PRECISION 32
#endif
// Are positions read as a texture?
#pragma cutune tune(TEXTURE_MEMORY: 0, 1) data(n)
#ifndef TEXTURE_MEMORY
#define TEXTURE_MEMORY 1
#endif
#pragma cutune tune(WORK_PER_THREAD: 1..5) data(n)
#ifndef WORK_PER_THREAD
#define WORK_PER_THREAD 1
#endif

#if PRECISION == 64
typedef double Real;
#define EPSILON DBL_EPSILON
#else
typedef float Real;
#define EPSILON FLT_EPSILON
#endif

// Pairs beyond the cutoff exert no force. Lists reach further, as those of simulations do, which
// use them again.
constexpr double CUTOFF = 2.5, LIST_RADIUS = 3.2, SPACING = 1.1, JITTER = 0.1;
constexpr int MOST_NEIGHBOURS = 128, MOST_THREADS = 1024;

// float4 or double4, and float3 or double3.
struct __align__(16) Position {
    Real x, y, z, unused;
};
struct Force {
    Real x, y, z;
};

#if TEXTURE_MEMORY
typedef cudaTextureObject_t Positions;

__device__ inline Position position_of(Positions positions, int i) {
#if PRECISION == 64
    // Textures have no doubles: two halves each.
    const int4 low = tex1Dfetch<int4>(positions, 2 * i),
               high = tex1Dfetch<int4>(positions, 2 * i + 1);
    return {__hiloint2double(low.y, low.x), __hiloint2double(low.w, low.z),
            __hiloint2double(high.y, high.x), 0};
#else
    const float4 own = tex1Dfetch<float4>(positions, i);
    return {own.x, own.y, own.z, 0};
#endif
}
#else
typedef const Position *Positions;

__device__ inline Position position_of(Positions positions, int i) { return positions[i]; }
#endif

// Each thread does WORK_PER_THREAD atoms, a block apart. The k-th neighbours of all atoms stand
// together, so that threads of a warp read neighbouring entries of the list; the positions are
// anywhere.
static __global__ void __launch_bounds__(MOST_THREADS)
    lennard_jones(Positions positions, const int *neighbours, const int *counts, Force *forces,
                  int n) {
    int i = blockIdx.x * blockDim.x * WORK_PER_THREAD + threadIdx.x;
    for (int w = 0; w < WORK_PER_THREAD; ++w, i += blockDim.x) {
        if (i >= n) return;
        const Position own = position_of(positions, i);
        const int count = counts[i];
        Force force = {0, 0, 0};
        for (int k = 0; k < count; ++k) {
            const Position other = position_of(positions, neighbours[(size_t)k * n + i]);
            const Real x = own.x - other.x, y = own.y - other.y, z = own.z - other.z;
            const Real square = x * x + y * y + z * z;
            if (square < (Real)(CUTOFF * CUTOFF)) {
                const Real inverse = 1 / square, sixth = inverse * inverse * inverse;
                const Real scale = 24 * inverse * sixth * (2 * sixth - 1);
                force.x += x * scale;
                force.y += y * scale;
                force.z += z * scale;
            }
        }
        forces[i] = force;
    }
}

// The forces on all atoms, so many times.
static int compute_forces(Positions positions, const int *neighbours, const int *counts,
                          Force *forces, int n, int block, int repetitions) {
    const int threads = (n + WORK_PER_THREAD - 1) / WORK_PER_THREAD;
    const int grid = (threads + block - 1) / block;
    for (int k = 0; k < repetitions; ++k)
        lennard_jones<<<grid, block>>>(positions, neighbours, counts, forces, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return 0;
}

// Atoms near the points of a cubic lattice, in an order that has nothing to do with their places.
static std::vector<Position> shaken_lattice(int n, int side) {
    std::vector<Position> atoms(n);
    unsigned int state = 1;
    const auto shift = [&state] { return JITTER * (mixed(state++) / 2147483648.0 - 1); };
    for (int i = 0; i < n; ++i) {
        const int x = i % side, y = i / side % side, z = i / side / side;
        atoms[i] = {(Real)(x * SPACING + shift()), (Real)(y * SPACING + shift()),
                    (Real)(z * SPACING + shift()), 0};
    }
    for (int i = n - 1; i > 0; --i) std::swap(atoms[i], atoms[mixed(state++) % (i + 1)]);
    return atoms;
}

static double squared_distance(const Position &a, const Position &b) {
    const double x = (double)a.x - b.x, y = (double)a.y - b.y, z = (double)a.z - b.z;
    return x * x + y * y + z * z;
}

// The other atoms within LIST_RADIUS of each, found among those of the 27 cells around it.
struct NeighbourLists {
    std::vector<int> neighbours, counts;

    // False where an atom has more than the list can hold.
    bool fill(const std::vector<Position> &atoms, int side) {
        const int n = (int)atoms.size(),
                  cells = (int)((side * SPACING + 2 * JITTER) / LIST_RADIUS) + 1;
        const auto cell_of = [](Real x) { return (int)((x + JITTER) / LIST_RADIUS); };
        std::vector<std::vector<int>> members((size_t)cells * cells * cells);
        for (int i = 0; i < n; ++i)
            members[(cell_of(atoms[i].z) * cells + cell_of(atoms[i].y)) * cells +
                    cell_of(atoms[i].x)]
                .push_back(i);
        neighbours.assign((size_t)MOST_NEIGHBOURS * n, 0);
        counts.assign(n, 0);
        for (int i = 0; i < n; ++i) {
            const int x = cell_of(atoms[i].x), y = cell_of(atoms[i].y), z = cell_of(atoms[i].z);
            for (int c = std::max(0, z - 1); c <= std::min(cells - 1, z + 1); ++c)
                for (int b = std::max(0, y - 1); b <= std::min(cells - 1, y + 1); ++b)
                    for (int a = std::max(0, x - 1); a <= std::min(cells - 1, x + 1); ++a)
                        for (int other : members[(c * cells + b) * cells + a]) {
                            const double square = squared_distance(atoms[i], atoms[other]);
                            if (other == i || square >= LIST_RADIUS * LIST_RADIUS) continue;
                            if (counts[i] == MOST_NEIGHBOURS) return false;
                            neighbours[(size_t)counts[i]++ * n + i] = other;
                        }
        }
        return true;
    }

    double pairs() const {
        double sum = 0;
        for (int count : counts) sum += count;
        return sum;
    }
};

// Do the forces differ from those in double precision by no more than rounding explains? A term of
// the sum has at most 14 roundings of its two parts, r^-14 multiplies that of r^2 by 7, and each
// addition has one of what was added.
static bool are_forces(const std::vector<Force> &forces, const std::vector<Position> &atoms,
                       const NeighbourLists &lists) {
    const int n = (int)atoms.size();
    for (int i = 0; i < n; ++i) {
        double wanted[3] = {}, parts[3] = {};
        for (int k = 0; k < lists.counts[i]; ++k) {
            const Position &other = atoms[lists.neighbours[(size_t)k * n + i]];
            const double square = squared_distance(atoms[i], other);
            // A pair may be on either side of the cutoff by the rounding of r^2: it counts as an
            // error.
            const bool is_close_call = std::abs(square - CUTOFF * CUTOFF) < 8 * EPSILON * square;
            const double away[] = {(double)atoms[i].x - other.x, (double)atoms[i].y - other.y,
                                   (double)atoms[i].z - other.z};
            const double sixth = 1 / (square * square * square);
            for (int axis = 0; axis < 3; ++axis) {
                const double repelled = 48 * sixth * sixth / square * away[axis];
                const double attracted = 24 * sixth / square * away[axis];
                if (square < CUTOFF * CUTOFF) wanted[axis] += repelled - attracted;
                if (square < CUTOFF * CUTOFF || is_close_call)
                    parts[axis] += std::abs(repelled) + std::abs(attracted);
                if (is_close_call) parts[axis] += std::abs(attracted) / EPSILON;
            }
        }
        const double own[] = {forces[i].x, forces[i].y, forces[i].z};
        const double bound = (lists.counts[i] + 7 * 14) * EPSILON;
        for (int axis = 0; axis < 3; ++axis)
            if (!(std::abs(own[axis] - wanted[axis]) <= bound * parts[axis])) {
                printf("FAILED: force %d on atom %d is %g, not %g\n", axis, i, own[axis],
                       wanted[axis]);
                return false;
            }
    }
    return true;
}

#if TEXTURE_MEMORY
static cudaError_t make_texture(Positions *texture, Position *positions, int n) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = positions;
    resource.res.linear.sizeInBytes = n * sizeof(Position);
#if PRECISION == 64
    resource.res.linear.desc = cudaCreateChannelDesc<int4>();
#else
    resource.res.linear.desc = cudaCreateChannelDesc<float4>();
#endif
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    return cudaCreateTextureObject(texture, &resource, &description, nullptr);
}
#endif

int main(int argc, char **argv) {
    int numbers[] = {0, 1};
    if (!read_arguments(argc, argv, {12288, 24576, 36864, 73728}, numbers, 2)) {
        fprintf(stderr, "md N [REPETITIONS], or md -s CLASS [REPETITIONS], CLASS 1 to 4\n");
        return 2;
    }
    const int n = numbers[0], repetitions = numbers[1];
#pragma cutune tune(BLOCK_SIZE: 1..1024) data(n)
    int BLOCK_SIZE = 256;
    int side = 1;
    while ((long long)side * side * side < n) ++side;
    const std::vector<Position> atoms = shaken_lattice(n, side);
    NeighbourLists lists;
    if (!lists.fill(atoms, side)) {
        fprintf(stderr, "an atom has more than %d neighbours\n", MOST_NEIGHBOURS);
        return 2;
    }
    DeviceArray<Position> device_atoms;
    DeviceArray<int> neighbours, counts;
    DeviceArray<Force> device_forces;
    CHECK(device_atoms.copy_from(atoms.data(), n));
    CHECK(neighbours.copy_from(lists.neighbours.data(), lists.neighbours.size()));
    CHECK(counts.copy_from(lists.counts.data(), n));
    CHECK(device_forces.allocate(n));
#if TEXTURE_MEMORY
    Positions positions;
    CHECK(make_texture(&positions, device_atoms.data, n));
#else
    const Positions positions = device_atoms.data;
#endif
    // What is loaded late is not part of the work.
    if (compute_forces(positions, neighbours.data, counts.data, device_forces.data, n, BLOCK_SIZE,
                       1))
        return 1;

    Clock clock;
    CHECK(clock.start());
#pragma cutune region begin repeat
    if (compute_forces(positions, neighbours.data, counts.data, device_forces.data, n, BLOCK_SIZE,
                       repetitions))
        return 1;
#pragma cutune region end
    float milliseconds = 0;
    CHECK(clock.stop(&milliseconds));

    std::vector<Force> forces(n);
    CHECK(cudaMemcpy(forces.data(), device_forces.data, n * sizeof(Force), cudaMemcpyDeviceToHost));
#if TEXTURE_MEMORY
    CHECK(cudaDestroyTextureObject(positions));
#endif
    if (!are_forces(forces, atoms, lists)) return 1;
    printf("PASSED: %d atoms of %d bits\n", n, (int)(8 * sizeof(Real)));
    if (milliseconds > 0)
        fprintf(stderr, "%.3f G pairs/s\n", lists.pairs() * repetitions / milliseconds / 1e6);
    return 0;
}
