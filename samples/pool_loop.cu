// SPDX-License-Identifier: Apache-2.0
// A scratch buffer in every step: by cudaMalloc and cudaFree, which wait for the device, and by cudaMallocAsync and
// cudaFreeAsync, which take it from a pool in stream order. The program prints the time of a step in each way.
// Variants: clean (or no word): 200 steps; churn: 2,000 steps, where gpumemtrace advises the pool;
//   leak-from-pool   the last scratch buffer of the pool stays
//   other-stream     freed on another stream, which no event orders after the work
//   use-after-free   cleared after cudaFreeAsync
//   pool-destroyed   a pool of its own is destroyed while a block of it is alive
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: churn
// expect: warning churn count=2000 api=cudaMalloc message="cudaMallocAsync" stacks="allocated here"@step_with_malloc:LINE(malloc),"freed here"@step_with_malloc:LINE(free-again)
// run: leak-from-pool
// expect: error leak bytes=65536 count=1 stacks="allocated here"@keep_scratch:LINE(keep)
// run: other-stream
// expect: error stream-order count=1 api=cudaFreeAsync stacks="allocated here"@keep_scratch:LINE(keep),"used here"@keep_scratch:LINE(use),"freed here"@free_on_other_stream:LINE(free-elsewhere)
// run: use-after-free
// expect: error use-after-free count=1 api=cudaMemsetAsync stacks="allocated here"@keep_scratch:LINE(keep),"freed here"@use_after_free:LINE(free),"set here"@use_after_free:LINE(set)
// run: pool-destroyed
// expect: error leak bytes=65536 count=1 message="its pool was destroyed" stacks="allocated here"@destroy_pool_with_block:LINE(from-own-pool),"pool destroyed here"@destroy_pool_with_block:LINE(destroy-pool)
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr size_t kScratch = 64 * 1024;

static void step_with_malloc(cudaStream_t stream)
{
  void* scratch = nullptr;
  CHECK(cudaMalloc(&scratch, kScratch)); // @malloc
  CHECK(cudaMemsetAsync(scratch, 1, kScratch, stream));
  CHECK(cudaFree(scratch)); // @free-again
}

static void step_with_pool(cudaStream_t stream)
{
  void* scratch = nullptr;
  CHECK(cudaMallocAsync(&scratch, kScratch, stream));
  CHECK(cudaMemsetAsync(scratch, 1, kScratch, stream));
  CHECK(cudaFreeAsync(scratch, stream));
}

static double microseconds_a_step(void (*step)(cudaStream_t), int steps, cudaStream_t stream)
{
  step(stream); // the first one loads code and fills the pool
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i)
    step(stream);
  CHECK(cudaStreamSynchronize(stream));
  std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / steps;
}

static void* keep_scratch(cudaStream_t stream)
{
  cudaMemPool_t pool;
  void* scratch = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMallocFromPoolAsync(&scratch, kScratch, pool, stream)); // @keep
  CHECK(cudaMemsetAsync(scratch, 1, kScratch, stream)); // @use
  return scratch;
}

static void free_on_other_stream(cudaStream_t stream)
{
  cudaStream_t other;
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  void* scratch = keep_scratch(stream);
  TRY(cudaFreeAsync(scratch, other)); // @free-elsewhere
  CHECK(cudaStreamSynchronize(other));
  CHECK(cudaStreamDestroy(other));
}

static void use_after_free(cudaStream_t stream)
{
  void* scratch = keep_scratch(stream);
  CHECK(cudaFreeAsync(scratch, stream)); // @free
  TRY(cudaMemsetAsync(scratch, 2, kScratch, stream)); // @set
}

static void destroy_pool_with_block(cudaStream_t stream)
{
  cudaMemPoolProps properties{};
  cudaMemPool_t pool;
  void* scratch = nullptr;
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaMallocFromPoolAsync(&scratch, kScratch, pool, stream)); // @from-own-pool
  CHECK(cudaMemsetAsync(scratch, 1, kScratch, stream));
  TRY(cudaMemPoolDestroy(pool)); // @destroy-pool
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  auto is = [&](const char* word) { return !std::strcmp(variant, word); };
  int steps = is("churn") ? 2000 : 200;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::printf("cudaMalloc and cudaFree: %.2f us a step\n", microseconds_a_step(step_with_malloc, steps, stream));
  std::printf("a pool in stream order:  %.2f us a step\n", microseconds_a_step(step_with_pool, steps, stream));
  if (is("leak-from-pool"))
    keep_scratch(stream);
  if (is("other-stream")) {
    // A pool that gives back what is freed may unmap the memory under the memset, whose illegal address ends the
    // context. With one that keeps it the mistake goes unnoticed, as it does in most programs.
    cudaMemPool_t pool;
    unsigned long long keep_all = ~0ull;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
    free_on_other_stream(stream);
  }
  if (is("use-after-free"))
    use_after_free(stream);
  if (is("pool-destroyed"))
    destroy_pool_with_block(stream);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
