// Copies of rows in pitched memory, with both ends checked.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace cutune {

// A rectangle of rows; a plain copy is one row.
struct Rows {
    size_t width, height, depth;  // width in bytes
};

struct Place {
    char* start;
    size_t pitch;        // bytes from row to row
    size_t slice_pitch;  // bytes from slice to slice
};

Place place(const void* start, size_t pitch = 0);

cudaError_t copy(const Place& to, const Place& from, const Rows& rows, cudaMemcpyKind kind);

cudaError_t copy_request(const cudaMemcpy3DParms& request);
// Every element, of 1, 2 or 4 bytes, gets the value.
cudaError_t fill(const Place& to, unsigned value, size_t element, const Rows& rows);

}  // namespace cutune
