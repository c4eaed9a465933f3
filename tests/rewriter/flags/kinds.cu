// SPDX-License-Identifier: Apache-2.0
// A kernel for each kind of mistake, for test_flags.py: its name is that of the kind, and the
// mistaken access stands in the line with the mark.
extern "C" {

__global__ void behind(int* to, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = i; // @behind
}
__global__ void before(int* to, int n) { to[-n] = 1; }  // @before
__global__ void negative(int* to, int n) { to[n] = 1; } // @negative
// Where the blocks of parameters are known in loops alone
__global__ void far(int* to, int n) {
  for (long i = 0; i <= n * 1000L; i += n * 1000L) to[i] = 1; // @far
}
__global__ void neighbour(int* to, int n) {
  for (int i = 0; i <= n; i += n) to[i] = i; // @neighbour
}
__global__ void null(int* to, int n) { to[n] = 1; }  // @null
__global__ void freed(int* to, int n) { to[n] = 1; } // @freed
__global__ void misaligned(int* to, int n) {
  *reinterpret_cast<int4*>(to + n) = int4{}; // @misaligned
}
__global__ void of_shared(int* to, int n) {
  __shared__ int part[32];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  to[threadIdx.x] = part[threadIdx.x + n]; // @of_shared
}
__global__ void of_dynamic(int* to, int n) {
  extern __shared__ int given[];
  given[threadIdx.x + n] = n; // @of_dynamic
  __syncthreads();
  to[threadIdx.x] = given[0];
}
__global__ void of_local(int* to, int n) {
  int last[8] = {};
  for (int i = 0; i < 4; ++i) last[(to[i] & 1) + i * n] = i; // @of_local
  for (int i = 0; i < 8; ++i) to[i] = last[i];
}
__global__ void of_heap(int* to, int n) {
  int* block = static_cast<int*>(malloc(16 * sizeof(int)));
  for (int i = 0; i < 16; ++i) block[i] = i;
  *to = block[n]; // @of_heap
  free(block);
}

} // extern "C"
