// SPDX-License-Identifier: Apache-2.0
// Patterns in which the 32 lanes of one warp use memory, a kernel for each.
// access_patterns.ptx.xz is made of it, by
// nvcc -O2 -lineinfo -arch=compute_90 -std=c++17 -ptx
// and h100.tsv has what CUPTI counted for it on an H100:
// gpumemtrace record --coalescing --coalescing-launches all
// clang-format off: both have its lines.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cuda_pipeline.h>
#include <cuda_fp16.h>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

// Which element lane i uses.
template <int kPattern> __device__ int element(int i)
{
  switch (kPattern) {
  case 0: return i;
  case 1: return 2 * i;
  case 2: return 0;
  case 3: return i / 2;
  case 4: return i / 16 * 64;
  case 5: return i + 1;
  case 6: return 31 - i;
  case 7: return i * 32;
  case 8: return i * 7 % 32;
  case 9: return i % 8;
  case 10: return i * 33;
  case 11: return i * 3;
  case 12: return i / 4 * 32;
  case 13: return (i % 2) * 512 + i / 2;
  case 14: return i % 4 * 8 + i / 4;
  case 15: return i * 16;
  case 16: return i * 4;
  case 17: return i / 8 * 32 + i % 8;
  case 18: return i / 8 + i % 8 * 32;
  case 19: return (i * i * 13) % 61;
  }
  return i;
}
constexpr int kElements = 2048;
template <class T> __device__ T made(int i) { T t; unsigned char* p = (unsigned char*)&t; for (int k = 0; k < sizeof t; ++k) p[k] = (unsigned char)(i + k); return t; }
template <class T, int kP> __global__ void load_all(const T* in, T* out)
{
  const int i = threadIdx.x;
  out[i] = in[element<kP>(i)];
}
template <class T, int kP> __global__ void load_some(const T* in, T* out, unsigned mask)
{
  const int i = threadIdx.x;
  if (mask >> i & 1) out[i] = in[element<kP>(i)];
}
template <class T, int kP> __global__ void store_all(const T* in, T* out)
{
  const int i = threadIdx.x;
  out[element<kP>(i)] = in[i];
}
template <class T, int kP> __global__ void shared_load(const T* in, T* out)
{
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = (T*)bytes;
  const int i = threadIdx.x;
  volatile int* w = (volatile int*)bytes;
  for (int k = i; k < 1088 * (int)sizeof(T) / 4; k += 32) w[k] = k;
  __syncthreads();
  out[i] = s[element<kP>(i)];
}
template <class T, int kP> __global__ void shared_store(const T* in, T* out)
{
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = (T*)bytes;
  const int i = threadIdx.x;
  s[element<kP>(i)] = in[i];
  __syncthreads();
  if (in == out) out[i] = s[i + 1];
}
template <int kP> __global__ void shared_atomic(const int* in, int* out)
{
  extern __shared__ __align__(16) unsigned char bytes[];
  int* s = (int*)bytes;
  const int i = threadIdx.x;
  for (int k = i; k < 1088; k += 32) ((volatile int*)s)[k] = 0;
  __syncthreads();
  atomicAdd(&s[element<kP>(i)], 1 + i);
  __syncthreads();
  if (in == out) out[i] = s[i + 1];
}
template <int kP> __global__ void shared_exchange(const int* in, int* out)
{
  extern __shared__ __align__(16) unsigned char bytes[];
  int* s = (int*)bytes;
  const int i = threadIdx.x;
  for (int k = i; k < 1088; k += 32) ((volatile int*)s)[k] = 0;
  __syncthreads();
  out[i] = atomicExch(&s[element<kP>(i)], 1 + i);
}
template <int kP> __global__ void global_atomic(int* in, int* out)
{
  const int i = threadIdx.x;
  out[i] = atomicExch(&in[element<kP>(i)], i);
}
template <int kP> __global__ void global_reduce(int* in, int*)
{
  const int i = threadIdx.x;
  atomicAdd(&in[element<kP>(i)], i + 1);
}
template <class T, int kP> __global__ void copy_async(const T* in, T* out)
{
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = (T*)bytes;
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&s[i], &in[element<kP>(i)], sizeof(T));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[i] = s[i];
}
template <int kStride> __global__ void matrices(const int* in, int* out)
{
  extern __shared__ __align__(16) unsigned char bytes[];
  const int i = threadIdx.x;
  for (int k = i; k < 32 * kStride / 4; k += 32) ((volatile int*)bytes)[k] = in[k];
  __syncthreads();
  unsigned a, b, c, d;
  const unsigned at = (unsigned)__cvta_generic_to_shared(bytes + i * kStride);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
  out[i] = a ^ b ^ c ^ d;
}
__global__ void local_array(const int* in, int* out)
{
  int a[64];
  const int i = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) a[(k * 7) & 63] = in[k];
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) sum += a[in[k] & 63];
  out[i] = sum;
}

static void *in, *out;
static unsigned lanes = 32;
#define RUN(kernel, T) kernel<<<1, lanes, 1088 * sizeof(T)>>>((T*)in, (T*)out)
template <class T, int kP> void run_global()
{
  RUN((load_all<T, kP>), T);
  RUN((store_all<T, kP>), T);
  load_some<T, kP><<<1, 32>>>((T*)in, (T*)out, 0x00ff00f3u);
}
template <class T, int kP> void run_shared()
{
  RUN((shared_load<T, kP>), T);
  RUN((shared_store<T, kP>), T);
}
template <int kP> void run_atomics()
{
  RUN((shared_atomic<kP>), int);
  RUN((shared_exchange<kP>), int);
  RUN((global_atomic<kP>), int);
  RUN((global_reduce<kP>), int);
}
template <class T> void run_all()
{
  run_global<T, 0>(); run_global<T, 1>(); run_global<T, 2>(); run_global<T, 3>(); run_global<T, 4>(); run_global<T, 5>();
  run_global<T, 7>(); run_global<T, 9>(); run_global<T, 12>(); run_global<T, 13>(); run_global<T, 19>();
  run_shared<T, 0>(); run_shared<T, 1>(); run_shared<T, 2>(); run_shared<T, 3>(); run_shared<T, 4>(); run_shared<T, 5>();
  run_shared<T, 7>(); run_shared<T, 9>(); run_shared<T, 10>(); run_shared<T, 11>(); run_shared<T, 12>(); run_shared<T, 13>();
  run_shared<T, 14>(); run_shared<T, 15>(); run_shared<T, 16>(); run_shared<T, 17>(); run_shared<T, 18>(); run_shared<T, 19>();
}
int main()
{
  CHECK(cudaMalloc(&in, kElements * 16));
  CHECK(cudaMalloc(&out, kElements * 16));
  CHECK(cudaMemset(in, 1, kElements * 16));
  CHECK(cudaMemset(out, 1, kElements * 16));
  run_all<unsigned char>();
  run_all<short>();
  run_all<float>();
  run_all<float2>();
  run_all<float4>();
  run_atomics<0>(); run_atomics<1>(); run_atomics<2>(); run_atomics<3>(); run_atomics<4>(); run_atomics<7>(); run_atomics<9>(); run_atomics<19>();
  RUN((copy_async<float, 0>), float); RUN((copy_async<float, 1>), float); RUN((copy_async<float, 7>), float);
  RUN((copy_async<float2, 0>), float2); RUN((copy_async<float2, 1>), float2);
  RUN((copy_async<float4, 0>), float4); RUN((copy_async<float4, 1>), float4); RUN((copy_async<float4, 7>), float4);
  matrices<16><<<1, 32, 4096>>>((int*)in, (int*)out);
  matrices<32><<<1, 32, 4096>>>((int*)in, (int*)out);
  matrices<64><<<1, 32, 4096>>>((int*)in, (int*)out);
  matrices<80><<<1, 32, 4096>>>((int*)in, (int*)out);
  matrices<128><<<1, 32, 4096>>>((int*)in, (int*)out);
  local_array<<<1, 32>>>((int*)in, (int*)out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}
