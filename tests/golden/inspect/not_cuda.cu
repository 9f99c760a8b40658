// expect CT102: no C++ code found; is 'not_cuda.cu' a CUDA source file?
Dear all,

this is (no) program.
