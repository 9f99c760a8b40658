__global__ void broken(float *a) {
    if (a[0] > 0 {  // expect CT101: unbalanced '('
        a[0] = 0;
}
