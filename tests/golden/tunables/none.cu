// Without a host tunable nothing changes, regions neither.
__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}

void solve(int N, float *x) {
#pragma cutune region begin
    fill<<<N / 32, 32>>>(N, x);
#pragma cutune region end
}
