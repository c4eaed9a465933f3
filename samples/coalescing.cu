// SPDX-License-Identifier: Apache-2.0
// How the 32 threads of a warp share the 32-byte sectors that memory is moved in. Every pattern negates 64 MiB
// (less where some threads do nothing); the write is in order, the read is not. With 4-byte elements a warp asks for
// 128 bytes, which are 4 sectors at best: an offset of one element needs 5, a stride of two 8, a stride of 32 one for
// each thread. What all threads of a warp share, or what some threads do not ask for, wastes nothing.
// Words: [pattern [byte|float|float4]], or "all" for every pattern with every element, one after the other.
//
// run: all
// env: GPUMEMTRACE_SIM_KERNEL_TIME=0.05
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// expect: clean
//
// run: aligned float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: aligned byte
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: aligned float4
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: reversed float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: broadcast float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: broadcast float4
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: partial float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: partial byte
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
//
// Five sectors instead of four; for bytes, two instead of one.
// run: offset float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=1.24..1.26 cause=misaligned line=LINE(read)
// run: offset byte
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=1.99..2.01 cause=stride line=LINE(read)
//
// run: stride2 float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=2 cause=stride line=LINE(read)
// run: stride2 byte
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=2 cause=stride line=LINE(read)
// run: stride2 float4
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=2 cause=far-apart line=LINE(read)
//
// A sector for each thread: of its 32 bytes one, four or sixteen are used.
// run: stride32 byte
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=32 cause=far-apart line=LINE(read)
// run: stride32 float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 cause=far-apart line=LINE(read)
// run: stride32 float4
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=2 cause=far-apart line=LINE(read)
// run: random byte
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=31.9..32 cause=far-apart line=LINE(read)
// run: random float
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=7.9..8 cause=far-apart line=LINE(read)
// run: random float4
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note uncoalesced ratio=1.9..2 cause=far-apart line=LINE(read)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <type_traits>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr unsigned kBytes = 64u << 20;
constexpr unsigned kThreads = 256;

// Which element thread `i` reads; `count` is a power of two. All but Offset and Broadcast name each element once.
struct Aligned { __device__ static unsigned index(unsigned i, unsigned) { return i; } };
struct Offset { __device__ static unsigned index(unsigned i, unsigned) { return i + 1; } }; // one more is allocated
struct Reversed { __device__ static unsigned index(unsigned i, unsigned count) { return count - 1 - i; } };
struct Broadcast { __device__ static unsigned index(unsigned i, unsigned) { return i / 32; } };
struct Partial : Aligned {}; // by the first eight threads of each warp alone
template <unsigned stride>
struct Stride {
  __device__ static unsigned index(unsigned i, unsigned count)
  {
    unsigned in_one_pass = count / stride;
    return i % in_one_pass * stride + i / in_one_pass;
  }
};
struct Random {
  __device__ static unsigned index(unsigned i, unsigned count)
  {
    // Each step maps the numbers below `count` one to one.
    unsigned x = i;
    for (int round = 0; round < 3; ++round) {
      x = x * 0x9E3779B1u & (count - 1);
      x ^= x >> 11;
    }
    return x;
  }
};

template <typename Pattern>
__device__ bool takes_part(unsigned i)
{
  return !std::is_same_v<Pattern, Partial> || i % 32 < 8;
}

template <typename T>
__device__ T value_of(unsigned i);
template <>
__device__ unsigned char value_of(unsigned i) { return static_cast<unsigned char>(i * 31 + i / 256); }
template <>
__device__ float value_of(unsigned i) { return static_cast<float>(i); }
template <>
__device__ float4 value_of(unsigned i) { return make_float4(static_cast<float>(i), 1, 2, static_cast<float>(~i)); }

__device__ bool same(unsigned char a, unsigned char b) { return a == b; }
__device__ bool same(float a, float b) { return a == b; }
__device__ bool same(float4 a, float4 b) { return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w; }

__device__ unsigned char negative(unsigned char a) { return static_cast<unsigned char>(-a); }
__device__ float negative(float a) { return -a; }
__device__ float4 negative(float4 a) { return make_float4(-a.x, -a.y, -a.z, -a.w); }

template <typename T>
__global__ void fill(T* values, unsigned count)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    values[i] = value_of<T>(i);
}

template <typename T, typename Pattern>
__global__ void negate(T* to, const T* from, unsigned count)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!takes_part<Pattern>(i))
    return;
  T value = from[Pattern::index(i, count)]; // @read
  to[i] = negative(value);
}

template <typename T, typename Pattern>
__global__ void count_right(const T* to, unsigned count, unsigned* right)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  bool as_it_should = !takes_part<Pattern>(i) || same(to[i], negative(value_of<T>(Pattern::index(i, count))));
  int in_block = __syncthreads_count(as_it_should);
  if (threadIdx.x == 0)
    atomicAdd(right, in_block);
}

static bool kernels_run()
{
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  // On the simulated device the kernels are too long to run to their end.
  return std::strcmp(device.name, "gpumemtrace simulated device") != 0;
}

template <typename T, typename Pattern>
static bool run(const char* pattern, const char* element)
{
  constexpr unsigned count = kBytes / sizeof(T), blocks = count / kThreads;
  T *from = nullptr, *to = nullptr;
  unsigned *device_right = nullptr, right = 0;
  CHECK(cudaMalloc(&from, (count + 1) * sizeof(T)));
  CHECK(cudaMalloc(&to, count * sizeof(T)));
  CHECK(cudaMalloc(&device_right, sizeof right));
  CHECK(cudaMemset(device_right, 0, sizeof right));
  fill<<<blocks + 1, kThreads>>>(from, count + 1);
  negate<T, Pattern><<<blocks, kThreads>>>(to, from, count);
  count_right<T, Pattern><<<blocks, kThreads>>>(to, count, device_right);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&right, device_right, sizeof right, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_right));
  CHECK(cudaFree(to));
  CHECK(cudaFree(from));
  std::printf("%s %s: %u of %u right\n", pattern, element, right, count);
  return right == count || !kernels_run();
}

template <typename Pattern>
static bool run_elements(const char* pattern, const char* element)
{
  bool all = std::strcmp(element, "all") == 0, right = true;
  if (all || std::strcmp(element, "byte") == 0)
    right &= run<unsigned char, Pattern>(pattern, "byte");
  if (all || std::strcmp(element, "float") == 0)
    right &= run<float, Pattern>(pattern, "float");
  if (all || std::strcmp(element, "float4") == 0)
    right &= run<float4, Pattern>(pattern, "float4");
  return right;
}

int main(int argc, char** argv)
{
  const char* pattern = argc > 1 ? argv[1] : "aligned";
  bool all = std::strcmp(pattern, "all") == 0;
  const char* element = argc > 2 ? argv[2] : all ? "all" : "float";
  auto chosen = [&](const char* name) { return all || std::strcmp(pattern, name) == 0; };
  bool right = true;
  if (chosen("aligned"))
    right &= run_elements<Aligned>("aligned", element);
  if (chosen("offset"))
    right &= run_elements<Offset>("offset", element);
  if (chosen("stride2"))
    right &= run_elements<Stride<2>>("stride2", element);
  if (chosen("stride32"))
    right &= run_elements<Stride<32>>("stride32", element);
  if (chosen("reversed"))
    right &= run_elements<Reversed>("reversed", element);
  if (chosen("random"))
    right &= run_elements<Random>("random", element);
  if (chosen("broadcast"))
    right &= run_elements<Broadcast>("broadcast", element);
  if (chosen("partial"))
    right &= run_elements<Partial>("partial", element);
  return right ? 0 : 1;
}
