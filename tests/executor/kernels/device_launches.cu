// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels and graphs: children see what was written before, all are done when
// the parent's launch is, and tail launches come last.
#include "torture.h"

#include <algorithm>

__global__ void add(int* values, int n, int what) {
  const int i = global_index();
  if (i < n) values[i] += what;
}

__global__ void sum(const int* values, int n, int* out) {
  int all = 0;
  for (int i = 0; i < n; ++i) all += values[i];
  *out = all;
}

// By the block's own stream, a stream that it makes, and one that nothing waits for; then the tail.
__global__ void streams(int* values, int n, int* out, int* error) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < n; ++i) values[i] = i;
  const int blocks = (n + 63) / 64;
  sum<<<1, 1, 0, cudaStreamTailLaunch>>>(values, n, out);
  add<<<blocks, 64>>>(values, n, 1);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  add<<<1, 1, 0, stream>>>(out, 1, 1000000); // the tail overwrites it
  cudaStreamDestroy(stream);
  add<<<1, 1, 0, cudaStreamFireAndForget>>>(out + 1, 1, 5);
  error[0] = cudaGetLastError();
  add<<<1, 2048>>>(values, n, 100); // no block has so many threads
  error[1] = cudaGetLastError();
  error[2] = cudaGetLastError();
}

// Each half of a part is sorted by a child, until few elements are left.
__global__ void quicksort(int* data, int left, int right, int depth) {
  if (depth >= 8 || right - left < 16) {
    for (int i = left; i < right; ++i) {
      int least = i;
      for (int k = i + 1; k < right; ++k)
        if (data[k] < data[least]) least = k;
      const int kept = data[i];
      data[i] = data[least];
      data[least] = kept;
    }
    return;
  }
  const int pivot = data[(left + right) / 2];
  int i = left, k = right - 1;
  while (i <= k) {
    while (data[i] < pivot) ++i;
    while (data[k] > pivot) --k;
    if (i > k) break;
    const int kept = data[i];
    data[i++] = data[k];
    data[k--] = kept;
  }
  if (left < k + 1) quicksort<<<1, 1>>>(data, left, k + 1, depth + 1);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (i < right) quicksort<<<1, 1, 0, stream>>>(data, i, right, depth + 1);
  cudaStreamDestroy(stream);
}

struct Line {
  float* points;
  int count;
};

__global__ void fill(Line* line) {
  if (threadIdx.x < line->count) line->points[threadIdx.x] = 0.5f * threadIdx.x;
}

__global__ void release(Line* lines) { cudaFree(lines[threadIdx.x].points); }

// Each thread has memory of its own, and a child that fills it.
__global__ void tessellate(Line* lines, int n) {
  const int i = global_index();
  if (i >= n) return;
  lines[i].count = 4 + i % 8;
  cudaMalloc(reinterpret_cast<void**>(&lines[i].points), lines[i].count * sizeof(float));
  fill<<<1, lines[i].count>>>(&lines[i]);
}

__global__ void add_up(const Line* lines, float* sums) {
  float all = 0;
  for (int i = 0; i < lines[threadIdx.x].count; ++i) all += lines[threadIdx.x].points[i];
  sums[threadIdx.x] = all;
}

// Shared memory of a child, and a structure by value.
struct Box {
  int begin, end;
  float weight;
};
__global__ void boxes(Box box, const float* in, float* out) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = in[box.begin + threadIdx.x] * box.weight;
  __syncthreads();
  out[box.begin + threadIdx.x] = tile[box.end - box.begin - 1 - threadIdx.x];
}
__global__ void split(const float* in, float* out, int part) {
  const Box box{static_cast<int>(threadIdx.x) * part, static_cast<int>(threadIdx.x + 1) * part, 2};
  boxes<<<1, part, part * sizeof(float)>>>(box, in, out);
}

__global__ void copies(int* to, const int* from, int n) {
  cudaMemsetAsync(to, 0, n * sizeof(int), 0);
  cudaMemcpyAsync(to, from, n / 2 * sizeof(int), cudaMemcpyDeviceToDevice, 0);
  add<<<(n + 63) / 64, 64>>>(to, n, 1);
}

// Launches itself until it may not: an H100 has some 2,048 launches that wait.
__global__ void endless(int* runs, int* error) {
  ++*runs;
  endless<<<1, 1>>>(runs, error);
  if (const int here = cudaGetLastError()) *error = here;
}

// What a kernel asks of its device and of another kernel, the host answers likewise.
struct Answers {
  int device, devices, warp, threads, shared, blocks, blocks_with_flags;
  unsigned long long heap;
};
__global__ __launch_bounds__(256) void asked_for(float* out) {
  __shared__ float tile[700];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}
__global__ void questions(Answers* answers, int* errors) {
  Answers& a = answers[global_index()];
  cudaGetDevice(&a.device);
  cudaGetDeviceCount(&a.devices);
  cudaDeviceGetAttribute(&a.warp, cudaDevAttrWarpSize, a.device);
  cudaFuncAttributes of;
  cudaFuncGetAttributes(&of, reinterpret_cast<const void*>(asked_for));
  a.threads = of.maxThreadsPerBlock;
  a.shared = static_cast<int>(of.sharedSizeBytes);
  const auto kernel = reinterpret_cast<const void*>(asked_for);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a.blocks, kernel, 256, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&a.blocks_with_flags, kernel, 64, 40000,
                                                         0);
  size_t heap;
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  a.heap = heap;
  if (global_index() != 0) return;
  errors[0] = cudaGetLastError();
  int nothing;
  errors[1] = cudaDeviceGetAttribute(&nothing, cudaDevAttrWarpSize, 99);
  errors[2] = cudaGetLastError();
}

// Launches its own graph again behind itself, until it has run five times.
__global__ void again(int* runs, int* error) {
  if (++runs[0] < 5)
    error[0] |= cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}
__global__ void double_runs(int* runs) { runs[1] = runs[1] * 2 + runs[0]; }

__global__ void count(int* out, int index) { out[index] += 1; }
__global__ void multiply(int* out) { out[2] = (out[0] + out[1]) * 10; }

// Two graphs beside its own, and one behind all three.
__global__ void dispatch(cudaGraphExec_t first, cudaGraphExec_t second, cudaGraphExec_t last,
                         int* error) {
  error[0] = cudaGraphLaunch(last, cudaStreamGraphTailLaunch);
  error[1] = cudaGraphLaunch(first, cudaStreamGraphFireAndForget);
  error[2] = cudaGraphLaunch(second, cudaStreamGraphFireAndForget);
}

// A graph that kernels may launch, of what `record` puts into a stream.
template <class Record> cudaGraphExec_t device_graph(cudaStream_t stream, const Record& record) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  record();
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
  OK(cudaGraphUpload(exec, stream));
  OK(cudaGraphDestroy(graph));
  return exec;
}

void graphs() {
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  torture::Array<int> runs(2), error(4), out(4);
  const auto self = device_graph(stream, [&] {
    again<<<1, 1, 0, stream>>>(runs, error);
    double_runs<<<1, 1, 0, stream>>>(runs);
  });
  OK(cudaGraphLaunch(self, stream));
  OK(cudaStreamSynchronize(stream));
  // 1, 2*1+2, 2*4+3, 2*11+4, 2*26+5
  torture::expect("graph behind itself", runs, {5, 57});
  torture::report("no error", error.host()[0] == 0);

  const auto first = device_graph(stream, [&] { count<<<1, 1, 0, stream>>>(out, 0); });
  const auto second = device_graph(stream, [&] { count<<<1, 1, 0, stream>>>(out, 1); });
  const auto last = device_graph(stream, [&] { multiply<<<1, 1, 0, stream>>>(out); });
  const auto parent = device_graph(stream, [&] {
    dispatch<<<1, 1, 0, stream>>>(first, second, last, error);
    count<<<1, 1, 0, stream>>>(out, 3);
  });
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(parent, stream));
  OK(cudaStreamSynchronize(stream));
  torture::expect("graphs of a kernel", out, {2, 2, 40, 2});
  torture::expect("graphs launched", error, {0, 0, 0, 0});
  cudaGraph_t graph;
  cudaGraphExec_t none;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaLaunchHostFunc(stream, [](void*) {}, nullptr));
  OK(cudaStreamEndCapture(stream, &graph));
  torture::report("no host function",
                  cudaGraphInstantiate(&none, graph, cudaGraphInstantiateFlagDeviceLaunch) ==
                    cudaErrorInvalidValue);
  cudaGetLastError();
  OK(cudaGraphDestroy(graph));
  for (const cudaGraphExec_t exec : {self, first, second, last, parent})
    OK(cudaGraphExecDestroy(exec));
  OK(cudaStreamDestroy(stream));
}

int main() {
  graphs();
  constexpr int kSize = 300;
  torture::Array<int> values(kSize), out(2), error(3);
  streams<<<1, 32>>>(values, kSize, out, error);
  std::vector<int> want(kSize);
  for (int i = 0; i < kSize; ++i) want[i] = i + 1;
  torture::expect("streams", values, want);
  torture::expect("tail", out, {kSize * (kSize + 1) / 2, 5});
  torture::expect("errors", error, {0, cudaErrorInvalidConfiguration, 0});

  auto numbers = torture::numbers_below<int>(500, 3, 1000);
  torture::Array<int> data(numbers);
  quicksort<<<1, 1>>>(data, 0, 500, 0);
  std::sort(numbers.begin(), numbers.end());
  torture::expect("quicksort", data, numbers);

  torture::Array<Line> lines(48);
  torture::Array<float> sums(48);
  tessellate<<<2, 32>>>(lines, 48);
  add_up<<<1, 48>>>(lines, sums);
  release<<<1, 48>>>(lines);
  std::vector<float> all(48);
  for (int i = 0; i < 48; ++i) all[i] = 0.25f * (4 + i % 8) * (3 + i % 8);
  torture::expect("tessellate", sums, all);

  const auto floats = torture::numbers<float>(128, 4);
  torture::Array<float> in(floats), turned(128);
  split<<<1, 4>>>(in, turned, 32);
  std::vector<float> expected(128);
  for (int i = 0; i < 128; ++i) expected[i] = 2 * floats[i / 32 * 32 + 31 - i % 32];
  torture::expect("split", turned, expected);

  torture::Array<int> copied(500);
  copies<<<1, 1>>>(copied, data, 500);
  for (int i = 0; i < 500; ++i) numbers[i] = (i < 250 ? numbers[i] : 0) + 1;
  torture::expect("copies", copied, numbers);

  Answers wanted{};
  cudaFuncAttributes of{};
  size_t heap = 0;
  cudaGetDevice(&wanted.device);
  cudaGetDeviceCount(&wanted.devices);
  cudaDeviceGetAttribute(&wanted.warp, cudaDevAttrWarpSize, 0);
  cudaFuncGetAttributes(&of, asked_for);
  wanted.threads = of.maxThreadsPerBlock;
  wanted.shared = static_cast<int>(of.sharedSizeBytes);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&wanted.blocks, asked_for, 256, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&wanted.blocks_with_flags, asked_for, 64, 40000);
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  wanted.heap = heap;
  torture::Array<Answers> answers(64);
  torture::Array<int> errors(3);
  questions<<<2, 32>>>(answers, errors);
  bool all_equal = true;
  for (const Answers& a : answers.host())
    all_equal = all_equal && a.device == wanted.device && a.devices == wanted.devices &&
                a.warp == wanted.warp && a.threads == wanted.threads && a.shared == wanted.shared &&
                a.blocks == wanted.blocks && a.blocks_with_flags == wanted.blocks_with_flags &&
                a.heap == wanted.heap;
  torture::report("questions", all_equal);
  torture::expect("refused questions", errors, {0, cudaErrorInvalidDevice, cudaErrorInvalidDevice});

  torture::Array<int> runs(1), refused(1);
  endless<<<1, 1>>>(runs, refused);
  torture::report("endless",
                  runs.host()[0] > 24 && refused.host()[0] == cudaErrorLaunchPendingCountExceeded);
  return torture::finish();
}
