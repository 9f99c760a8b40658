int main() { return 0; }  // expect CT102: no kernel and no launch found; is 'not_cuda.cu' a CUDA source file?
