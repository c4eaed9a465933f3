// SPDX-License-Identifier: Apache-2.0
// A training loop in small, with the mistakes that everybody makes once. It runs to its end and prints what CUDA says
// of each: at most "invalid argument". `gpumemtrace ./first_steps` says what happened, and where.
// Variants: no word: with the mistakes; clean: without them.
//
// run:
// expect: error leak bytes=16384 count=4 stacks="allocated here"@load_batch:LINE(alloc-batch)
// expect: error leak bytes=4096 count=1 stacks="allocated here"@main:LINE(alloc-staging)
// expect: error mismatched-free count=1 api=cudaFree stacks="allocated here"@main:LINE(alloc-staging),"freed here"@release_all:LINE(free-staging)
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@main:LINE(alloc-weights),"first freed here"@release_all:LINE(free-weights),"freed again here"@release_all:LINE(free-twice)
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy stacks="allocated here"@main:LINE(alloc-weights),"copied here"@save_weights:LINE(copy-past-end)
// run: clean
// expect: clean
#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, \
  #call, cudaGetErrorString(r)); (void)cudaGetLastError(); } } while (0)

constexpr int kBatchSize = 1024;
constexpr int kSteps = 4;
static bool clean = false; // every mistake below is undone by it

__global__ void train_step(float* weights, const float* batch)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  weights[i] += 0.1f * batch[i];
}

static float* load_batch(const float* staging)
{
  float* batch = nullptr;
  CHECK(cudaMalloc(&batch, kBatchSize * sizeof(float))); // @alloc-batch
  CHECK(cudaMemcpy(batch, staging, kBatchSize * sizeof(float), cudaMemcpyHostToDevice));
  return batch;
}

static void train(float* weights, const float* staging)
{
  for (int step = 0; step < kSteps; ++step) {
    float* batch = load_batch(staging);
    train_step<<<kBatchSize / 256, 256>>>(weights, batch);
    CHECK(cudaGetLastError());
    if (clean)
      CHECK(cudaFree(batch));
  }
}

static void save_weights(const float* weights)
{
  std::vector<float> host(kBatchSize + 1);
  size_t count = clean ? kBatchSize : kBatchSize + 1; // one more for a bias that is stored elsewhere
  CHECK(cudaMemcpy(host.data(), weights, count * sizeof(float), cudaMemcpyDeviceToHost)); // @copy-past-end
  std::printf("first weight %g\n", host[0]);
}

static void release_all(float* weights, float* staging)
{
  CHECK(cudaFree(weights)); // @free-weights
  if (clean)
    CHECK(cudaFreeHost(staging));
  else
    CHECK(cudaFree(staging)); // @free-staging
  if (!clean)
    CHECK(cudaFree(weights)); // @free-twice
}

int main(int argc, char** argv)
{
  clean = argc > 1 && !std::strcmp(argv[1], "clean");
  float *weights = nullptr, *staging = nullptr;
  CHECK(cudaMallocHost(&staging, kBatchSize * sizeof(float))); // @alloc-staging
  CHECK(cudaMalloc(&weights, kBatchSize * sizeof(float))); // @alloc-weights
  if (weights == nullptr || staging == nullptr)
    return 1;
  CHECK(cudaMemset(weights, 0, kBatchSize * sizeof(float)));
  for (int i = 0; i < kBatchSize; ++i)
    staging[i] = 1.0f;
  train(weights, staging);
  save_weights(weights);
  release_all(weights, staging);
  return 0;
}
