// Launches that stay as they are whatever their kernel, and some that need not.
__global__ void fill(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1.0f;
}
template <class T>
__global__ void set(int n, T *a, float value = 1 * 1) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = value;
}
#define LAUNCH(n, a) fill<<<(n), 64>>>((n), (a))  // expect CT204: the launch stands in the body of macro 'LAUNCH'; write it out or move it into a function
#define CHECK(...) __VA_ARGS__
#define BLOCK 64

__device__ void nested(float *a) {
    fill<<<1, 64>>>(64, a);  // expect CT202: 'fill' is launched from device code, where nothing is chosen
}
typedef void (*Kernel)(int, float *);
int next(int &n) { return n++; }
int ceil_of(int n, int block) { return (n + block - 1) / block; }

int run(int n, float *a, Kernel pointer, bool fast) {
    fill<<<ceil_of(n, BLOCK), BLOCK>>>(n, a);
    if (fast)
        fill<<<n / 64, 64>>>(n, a);
    else
        fill<<<n / 32, 32>>>(n, a);
    fill<<<n / 64,  // expect CT203: a preprocessor directive stands inside the launch; move it outside
#ifdef WIDE
           64
#else
           32
#endif
           >>>(n, a);
    CHECK((fill<<<n / 64, 64>>>(n, a)));  // expect CT205: the launch is part of a larger statement; make it a statement of its own
    n++, fill<<<n / 64, 64>>>(n, a);  // expect CT205: the launch is part of a larger statement; make it a statement of its own
    fill<<<n++, 64>>>(n, a);
    fill<<<n, 64>>>(next(n), a);
    set<<<n++, 64>>>(n, a);  // expect CT206: '++' in the launch may have a side effect; store its value in a variable first
    set<<<n, 64>>>(next(n), a);  // expect CT206: 'next' in the launch may have a side effect; store its value in a variable first
    set<float><<<n, 64>>>(next(n), a, 2);
    set<<<n, 64>>>(next(n), a, 2);
    CHECK({ fill<<<n / 64, 64>>>(n, a); });  // expect CT244: the launch stands in the argument of a macro that prints or changes it, behind a #line, or is compiled as something else; write it out as a statement, without #line
    pointer<<<n, 64>>>(n, a);  // expect CT281: 'pointer' is an argument of 'run' and may be any kernel; launch each kernel by its name where 'run' is called
    (*pointer)<<<n, 64>>>(n, a);  // expect CT208: '(*pointer)' is not the name of a kernel; launch the kernel by its name
    Kernel chosen = fill;
    Kernel table[] = {fill, chosen};
    table[n]<<<n, 64>>>(n, a);  // expect CT208: 'table[n]' is not the name of a kernel; launch the kernel by its name
    chosen<<<n, 64>>>(n, a);  // expect CT208: 'chosen' is not the name of a kernel; launch the kernel by its name
#pragma cutune ignore
    fill<<<n / 64, 64>>>(n, a);  // expect CT207: left alone by #pragma cutune ignore; remove it to have the launch tuned
#pragma cutune ignorance  // expect CT103: pragma ignored: not understood at 'ignorance'
    dim3 block(32, 8);
    fill<<<n / 32, block>>>(n, a);  // expect CT230: kernel 'fill' does not index y, but its block is 8 wide in y: 8 threads do the same work and race
    switch (n) {
        case 1: fill<<<1, 32>>>(1, a); break;
        default: fill<<<2, 32>>>(2, a);
    }
    return 0;
}
template <class K, class... A>
void launch(K kernel, int grid, int block, A... arguments) {
    kernel<<<grid, block>>>(arguments...);  // expect CT281: 'kernel' is an argument of 'launch' and may be any kernel; launch each kernel by its name where 'launch' is called
}
template <void (*K)(int, float *)>
void launch_fixed(int n, float *a) {
    K<<<n, 64>>>(n, a);  // expect CT281: 'K' is an argument of 'launch_fixed' and may be any kernel; launch each kernel by its name where 'launch_fixed' is called
}
