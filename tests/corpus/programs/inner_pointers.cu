// Kernels whose pointers lie in structures. Each is launched with pointers that lead to two
// allocations, then with such that lead to one: there `out[i] = in[i ^ 16]` relies on warps.
#include <cstdio>
#include <cstdlib>

const int n = 960;
float *first, *second;

#define HEAD const int i = blockIdx.x * blockDim.x + threadIdx.x
#define SWAP(out, in) HEAD; if (i < n) (out)[i] = (in)[i ^ 16] * 0.5f + 1

// What both allocations hold; then they hold the same again as before each case.
static void report(const char *name) {
    static int launches = 0;
    static float values[4 * n];
    if (launches++ > 0) {
        cudaMemcpy(values, first, 2 * n * sizeof(float), cudaMemcpyDeviceToHost);
        cudaMemcpy(&values[2 * n], second, 2 * n * sizeof(float), cudaMemcpyDeviceToHost);
        double sum = 0;
        for (int i = 0; i < 4 * n; ++i) sum += values[i] * (i % 1009);
        printf("%s %.17g %s\n", name, sum, cudaGetErrorString(cudaDeviceSynchronize()));
    }
    for (int i = 0; i < 4 * n; ++i) values[i] = i % 317;
    cudaMemcpy(first, values, 2 * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(second, &values[2 * n], 2 * n * sizeof(float), cudaMemcpyHostToDevice);
}

struct Two { float *in, *out; };
__global__ void plain(Two f) { SWAP(f.out, f.in); }
__global__ void constant(const Two f) { SWAP(f.out, f.in); }
static void of_one_structure() {
    plain<<<n / 32, 32>>>(Two{first, second});
    report("apart");
    plain<<<n / 32, 32>>>(Two{first, first});
    report("same");
    plain<<<n / 32, 32>>>(Two{first, first + n});
    report("halves");
    constant<<<n / 32, 32>>>(Two{first + 32, second + n});
    report("interior");
    constant<<<n / 32, 32>>>({second, second});
    report("braces");
}

struct Nested { int count; Two inner[2]; };
__global__ void nested(Nested f) { SWAP(f.inner[1].out, f.inner[0].in); }
struct One { float *at; };
__global__ void two_structures(One to, One from) { SWAP(to.at, from.at); }
__global__ void beside(float *out, int, Two f) { SWAP(out, f.in); }
static void of_several() {
    nested<<<n / 32, 32>>>(Nested{3, {{first, first}, {first, second}}});
    report("nested apart");
    nested<<<n / 32, 32>>>(Nested{3, {{first, second}, {second, first}}});
    report("nested same");
    two_structures<<<n / 32, 32>>>(One{first}, One{second});
    report("two structures apart");
    two_structures<<<n / 32, 32>>>(One{first}, One{first});
    report("two structures same");
    beside<<<n / 32, 32>>>(first, 7, Two{second, first});
    report("beside apart");
    beside<<<n / 32, 32>>>(first, 7, Two{first, second});
    report("beside same");
}

// Rows that a block shares, and a block that is a constant.
__global__ void in_rows(Two f) {
    const int row = blockIdx.x * 96;
    for (int j = threadIdx.x; j < 96; j += blockDim.x) f.out[row + j] = f.in[row + (j ^ 16)] * 0.5f + 1;
}
__global__ void of_constant_block(Two f) {
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) f.out[i] = f.in[i ^ 16] * 0.5f + 1;
}
static void of_other_blocks() {
    for (float *out : {second, first, first + n}) {
        in_rows<<<n / 96, 32>>>(Two{first, out});
        report("in rows");
        of_constant_block<<<n / 32, 32>>>(Two{first, out});
        report("of constant block");
    }
}

// What the text of a structure does not show: where its parts lie, and what they are.
struct Places { float *of[1], *in; float4 wide; float *out; };
__global__ void array_first(Places f) { SWAP(f.out, f.of[0]); }
union Either { float *in; long long number; };
struct WithUnion { int tag : 3; Either either; void *out; };
__global__ void of_union(WithUnion f) { SWAP((float *)f.out, f.either.in); }
class Private {
    float *in_, *out_;
  public:
    Private(float *in, float *out) : in_(in), out_(out) {}
    __device__ const float *in() const { return in_; }
    __device__ float *out() const { return out_; }
};
__global__ void of_private(Private f) { SWAP(f.out(), f.in()); }
struct Derived : One { float *out; };
__global__ void of_derived(Derived f) { SWAP(f.out, f.at); }
#pragma pack(push, 4)
struct Packed { int tag; float *in; int other; float *out; };
#pragma pack(pop)
__global__ void of_packed(Packed f) { SWAP(f.out, f.in); }
struct Numbers { unsigned long long in, out; };
__global__ void of_numbers(Numbers f) { SWAP((float *)f.out, (const float *)f.in); }
static void of_other_types() {
    const float4 wide = {1, 2, 3, 4};
    array_first<<<n / 32, 32>>>(Places{{first}, second, wide, second});
    report("array apart");
    array_first<<<n / 32, 32>>>(Places{{first}, second, wide, first});
    report("array same");
    WithUnion with = {};
    with.either.in = first, with.out = second;
    of_union<<<n / 32, 32>>>(with);
    report("union apart");
    with.out = first;
    of_union<<<n / 32, 32>>>(with);
    report("union same");
    of_private<<<n / 32, 32>>>(Private(first, second));
    report("private apart");
    of_private<<<n / 32, 32>>>(Private(first, first));
    report("private same");
    Derived derived;
    derived.at = first, derived.out = second;
    of_derived<<<n / 32, 32>>>(derived);
    report("derived apart");
    derived.out = first;
    of_derived<<<n / 32, 32>>>(derived);
    report("derived same");
    of_packed<<<n / 32, 32>>>(Packed{1, first, 2, second});
    report("packed apart");
    of_packed<<<n / 32, 32>>>(Packed{1, first, 2, first});
    report("packed same");
    of_numbers<<<n / 32, 32>>>(Numbers{(unsigned long long)first, (unsigned long long)second});
    report("numbers apart");
    of_numbers<<<n / 32, 32>>>(Numbers{(unsigned long long)first, (unsigned long long)first});
    report("numbers same");
}

template <class T> struct View { T *data; int size; };
template <class T> __global__ void of_views(View<const T> in, View<T> out) {
    SWAP(out.data, in.data);
}
template <class... Views> __global__ void of_many(int, Views... f) {
    float *all[] = {f.data...};
    SWAP(all[1], all[0]);
}
static void of_templates() {
    of_views<float><<<n / 32, 32>>>({first, n}, {second, n});
    report("views apart");
    of_views<float><<<n / 32, 32>>>({first, n}, {first, n});
    report("views same");
    of_views<double><<<n / 32, 32>>>({(const double *)first, n}, {(double *)second, n});
    report("wide views apart");
    const View<float> one = {first, n}, other = {second, n};
    of_many<<<n / 32, 32>>>(1, one, other);
    report("many apart");
    of_many<<<n / 32, 32>>>(1, one, one);
    report("many same");
}

// The kernel makes other pointers of what it gets.
__global__ void assigned(Two f) {
    f.out = f.in;
    SWAP(f.out, f.in);
}
__global__ void moved(Two f) {
    f.out += 32, f.in += 32;
    HEAD;
    if (i < n - 32) f.out[i] = f.in[i ^ 16] * 0.5f + 1;
}
__global__ void chosen(Two f, int flag) {
    float *const out = flag != 0 ? f.in : f.out;
    SWAP(out, f.in);
}
__global__ void exchanged(Two f, int rounds) {
    HEAD;
    if (i >= n) return;
    for (int round = 0; round < rounds; ++round) {
        f.out[i] = f.in[i ^ 16] * 0.5f + 1;
        float *const kept = f.in;
        f.in = f.out, f.out = kept;
    }
}
__global__ void indexed(Nested f, int which) { SWAP((&f.inner[0].in)[which], f.inner[0].in); }
__global__ void stepped(char *base, long long in, long long out) {
    SWAP((float *)(base + out), (float *)(base + in));
}
struct Steps { char *base; long long in, out; };
__global__ void inner_steps(Steps f) { SWAP((float *)(f.base + f.out), (float *)(f.base + f.in)); }
static void of_changed() {
    assigned<<<n / 32, 32>>>(Two{first, second});
    report("assigned");
    moved<<<n / 32, 32>>>(Two{first, second});
    report("moved apart");
    moved<<<n / 32, 32>>>(Two{first, first});
    report("moved same");
    chosen<<<n / 32, 32>>>(Two{first, second}, 1);
    report("chosen");
    exchanged<<<n / 32, 32>>>(Two{first, second}, 1);
    report("exchanged");
    indexed<<<n / 32, 32>>>(Nested{3, {{first, second}, {second, second}}}, 0);
    report("indexed");
    stepped<<<n / 32, 32>>>((char *)first, 0, 0);
    report("stepped");
    inner_steps<<<n / 32, 32>>>(Steps{(char *)first, 0, 0});
    report("inner steps");
}

// It hands the structure on.
__device__ void by_value(Two f, int i) { f.out[i] = f.in[i ^ 16] * 0.5f + 1; }
__device__ void by_reference(Two &f, int i) { f.in += 0, f.out[i] = f.in[i ^ 16] * 0.5f + 1; }
__device__ __noinline__ void away(const Two *f, int i) { f->out[i] = f->in[i ^ 16] * 0.5f + 1; }
__global__ void hands_value(Two f) { HEAD; if (i < n) by_value(f, i); }
__global__ void hands_reference(Two f) { HEAD; if (i < n) by_reference(f, i); }
__global__ void hands_away(Two f) { HEAD; if (i < n) away(&f, i); }
__global__ void behind(const Two *f) { SWAP(f->out, f->in); }
struct Deep { Two *two; float **out; };
__global__ void fixed(const __grid_constant__ Two f) { const Two *const at = &f; SWAP(at->out, at->in); }
__global__ void deep(Deep f) { SWAP(*f.out, f.two->in); }
__global__ void referred(const Two &f) { SWAP(f.out, f.in); }
static void of_handed() {
    for (float *out : {second, first}) {
        hands_value<<<n / 32, 32>>>(Two{first, out});
        report("hands value");
        hands_reference<<<n / 32, 32>>>(Two{first, out});
        report("hands reference");
        hands_away<<<n / 32, 32>>>(Two{first, out});
        report("hands away");
        fixed<<<n / 32, 32>>>(Two{first, out});
        report("fixed");
        Two *filed, two = {first, out};
        cudaMalloc(&filed, sizeof two);
        cudaMemcpy(filed, &two, sizeof two, cudaMemcpyHostToDevice);
        behind<<<n / 32, 32>>>(filed);
        report("behind");
        deep<<<n / 32, 32>>>(Deep{filed, &filed->out});
        report("deep");
        cudaFree(filed);
    }
}

// What a launch passes is made when it is made, once.
struct Copied {
    float *in, *out;
    Copied(float *from, float *to) : in(from), out(to) {}
    // The kernel gets a copy whose pointers meet.
    Copied(const Copied &other) : in(other.in), out(other.in) { ++copies(); }
    static int &copies() { static int count = 0; return count; }
};
__global__ void of_copied(Copied f) { SWAP(f.out, f.in); }
struct Source { float *in, *out; operator Two() const { return {in, in}; } };
static Two turned(Two &two) {
    return two = Two{two.out, two.in};
}
struct Apart : Two { float *third; };
static void of_arguments() {
    const Copied copied(first, second);
    of_copied<<<n / 32, 32>>>(copied);
    printf("%d copies\n", Copied::copies());
    report("copied");
    plain<<<n / 32, 32>>>(Source{first, second});
    report("converted");
    Two two = {first, second};
    for (int round = 0; round < 3; ++round) plain<<<n / 32, 32>>>(turned(two));
    printf("%d\n", two.in == second);
    report("turned");
    for (int round = 0; round < 4; ++round) plain<<<n / 32, 32>>>(Two{first, round % 2 == 0 ? second : first});
    report("in turn");
    Apart apart;
    apart.in = first, apart.out = first, apart.third = second;
    plain<<<n / 32, 32>>>(apart);
    report("sliced");
}

// A graph may be given other pointers later.
static void of_graphs() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    plain<<<n / 32, 32, 0, stream>>>(Two{first, second});
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&made, graph, 0);
    cudaGraphLaunch(made, stream);
    cudaStreamSynchronize(stream);
    report("graph");
}

// Calls that are repeated: the name does not tell which kernel is meant.
struct Turned { float *out, *in; };
__global__ void overloaded(Two f) { SWAP(f.out, f.in); }
__global__ void overloaded(Turned f) { SWAP(f.out, f.in); }
__global__ void defaulted(Two f, float added = 1 * 1) {
    HEAD;
    if (i < n) f.out[i] = f.in[i ^ 16] * 0.5f + added;
}
static void of_overloads() {
    const Two two = {first, second};
    const Turned turned = {second, first};
    overloaded<<<n / 32, 32>>>(two);
    report("overloaded");
    overloaded<<<n / 32, 32>>>(turned);
    report("overloaded, turned");
    defaulted<<<n / 32, 32>>>(two);
    report("defaulted");
}

// Memory of which a launch does not know, that comes and goes, and pointers to nothing.
__global__ void perhaps(Two f, float *other) {
    HEAD;
    if (i < n && f.in != nullptr) f.out[i] = f.in[i ^ 16] * 0.5f + 1;
    else if (i < n) f.out[i] = other[i];
}
static void of_memory() {
    float *mapped, *managed;
    cudaHostAlloc(&mapped, n * sizeof(float), cudaHostAllocMapped);
    cudaMallocManaged(&managed, n * sizeof(float));
    for (int i = 0; i < n; ++i) mapped[i] = managed[i] = i;
    plain<<<n / 32, 32>>>(Two{mapped, first});
    report("mapped");
    plain<<<n / 32, 32>>>(Two{managed, first});
    report("managed");
    perhaps<<<n / 32, 32>>>(Two{nullptr, first}, second);
    report("null");
    float *other;
    cudaMalloc(&other, n * sizeof(float));
    cudaMemset(other, 0, n * sizeof(float));
    plain<<<n / 32, 32>>>(Two{other, first});
    report("new");
    cudaFree(other);
    // Its address may lie in another allocation now.
    cudaMalloc(&other, 2 * n * sizeof(float));
    cudaMemset(other, 0, 2 * n * sizeof(float));
    for (int round = 0; round < 2; ++round) plain<<<n / 32, 32>>>(Two{other, other + n * round});
    cudaMemcpy(first, other, 2 * n * sizeof(float), cudaMemcpyDeviceToDevice);
    report("given again");
}

// As many pointers as a launch asks about, of which it does not remember what it decided, and more.
template <int count> struct Many { float *of[count]; };
template <int count> static __device__ void add_all(const Many<count> &f) {
    HEAD;
    if (i >= n) return;
    float sum = 0;
#pragma unroll
    for (int k = 0; k + 1 < count; ++k) sum += f.of[k][i ^ 16];
    f.of[count - 1][i] = sum;
}
__global__ void sixteen(Many<16> f) { add_all(f); }
__global__ void seventeen(Many<17> f) { add_all(f); }
template <int count> static Many<count> many(float *last) {
    Many<count> found;
    for (int k = 0; k < count; ++k) found.of[k] = first + k;
    found.of[count - 1] = last;
    return found;
}
static void of_many_pointers() {
    for (float *last : {second, first + n, second + n}) {
        sixteen<<<n / 32, 32>>>(many<16>(last));
        report("sixteen");
        seventeen<<<n / 32, 32>>>(many<17>(last));
        report("seventeen");
    }
}

int main() {
    cudaMalloc(&first, 2 * n * sizeof(float));
    cudaMalloc(&second, 2 * n * sizeof(float));
    report("");
    of_one_structure();
    of_several();
    of_other_blocks();
    of_other_types();
    of_templates();
    of_changed();
    of_handed();
    of_arguments();
    of_graphs();
    of_overloads();
    of_memory();
    of_many_pointers();
    return 0;
}
