// Comments, line ends and continuations inside a configuration survive, line by line.
__global__ void add(int n, const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}

void run(int n, const float *a, float *b, cudaStream_t stream) {
    add<<<dim3((n + 127) /  // rounded up
               128),        // blocks
          128, /* nothing
                  dynamic */ 0,
          stream>>>(n,
                    a,   // read
                    b);  // read and written
    add<<<(n + 63) / \
          64, 64>>>(n, a, b);
    add <<< n / 32 /* exact */ , 32 >>> ( n , a , b ) ;
}
