// Macros and constants that cannot be chosen: each pragma has no effect at all.
#pragma cutune tune(A: 1, 2) // expect CT264: pragma ignored: 'A' gets no value right behind it; write there, in one line: #define A VALUE, or constexpr int A = VALUE;
#define A
#pragma cutune tune(B: 1, 2) // expect CT264: pragma ignored: 'B' gets no value right behind it; write there, in one line: #define B VALUE, or constexpr int B = VALUE;
#define B(x) x
#pragma cutune tune(C: 1, 2) // expect CT265: pragma ignored: 'C' is defined in several places; define it in one
#define C 1
#undef C
#define C 2
#pragma cutune tune(D: 1, 2, E: 1) // expect CT264: pragma ignored: 'E' gets no value right behind it; write there, in one line: #define E VALUE, or constexpr int E = VALUE;
#define D 1
#pragma cutune tune(F: 1, 2, 1) // expect CT256: pragma ignored: 'F' needs 1 to 65536 values, each of them once, a range in rising order
#define F 1
#pragma cutune tune(G: 1, 2) // expect CT264: pragma ignored: 'G' gets no value right behind it; write there, in one line: #define G VALUE, or constexpr int G = VALUE;
constexpr int G = 1, H = 2;
#pragma cutune tune(I: 1, 2) // expect CT250: pragma ignored: it stands outside of host functions; put it before a local declaration, a #define or a constexpr int
constexpr float I = 1;
#pragma cutune tune(J: 1, 2)
#define J 1
#pragma cutune tune(J: 1, 2) // expect CT255: pragma ignored: 'J' is tuned by an earlier pragma
constexpr int K = 1;

__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
