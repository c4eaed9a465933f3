// SPDX-License-Identifier: Apache-2.0
// Kernels whose launches are captured and replayed. The first argument is the scene.
// It is one file because it is one list: a kernel of each kind, and the scene that launches it.
#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t answer = (call);                                                             \
    if (answer != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(answer));                 \
      std::exit(9);                                                                                \
    }                                                                                              \
  } while (0)

constexpr int kCount = 1000;

// Each launch has another factor, so that the result depends on its number.
__global__ void scale(float* a, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= factor;
}

struct Node {
  Node* next;
  int* value;
};

// Memory that only memory points to.
__global__ void walk(const Node* first, int* sum) {
  for (const Node* node = first; node != nullptr; node = node->next) *sum += *node->value;
}

__constant__ int weights[8];
__device__ int total[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int* table;
__managed__ int calls = 3;

__global__ void variables() {
  total[threadIdx.x] += weights[threadIdx.x];
  table[threadIdx.x] = total[threadIdx.x] + calls;
  __syncthreads();
  if (threadIdx.x == 7) ++calls;
}

__global__ void shared_sum(const float* a, float* out) {
  extern __shared__ float part[];
  part[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned half = blockDim.x / 2; half != 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void past_the_end(int* a, int n) {
  a[threadIdx.x + n] = 1; // @past
}

__global__ void count_up(volatile int* a, long long n) {
  for (long long i = 0; i < n; ++i) *a = *a + 1;
}

__global__ void poll(volatile int* flag) {
  while (*flag == 0) {
  }
  *flag = 2;
}

__global__ void through_null(int* a, int n) { a[n] = 1; }

// What the driver made of the map, which nothing but its form decides.
__global__ void copy_map(const __grid_constant__ CUtensorMap map, int* out) {
  out[threadIdx.x] = reinterpret_cast<const int*>(&map)[threadIdx.x];
}

// The same of a map in memory, and one that the module holds. Both lie beside what the kernel
// writes.
struct MapAndRoom {
  CUtensorMap map;
  int room[32];
};
__constant__ MapAndRoom constant_map;
__global__ void copy_map_in_memory(MapAndRoom* maps, int* out) {
  out[threadIdx.x] = reinterpret_cast<const int*>(&maps[1].map)[threadIdx.x];
  out[32 + threadIdx.x] = reinterpret_cast<const int*>(&constant_map.map)[threadIdx.x];
  maps[1].room[threadIdx.x] = 7;
}

// A mipmapped array of layers, memory by rows, and an array that is written.
__global__ void filter(cudaTextureObject_t levels, cudaTextureObject_t rows, cudaSurfaceObject_t to,
                       float* out) {
  const int i = threadIdx.x, x = i % 8, y = i / 8;
  const float a = tex2DLayeredLod<float>(levels, (x + 0.3f) / 8, (y + 0.7f) / 8, 1, 0.4f);
  const float b = tex2D<float>(rows, x + 0.75f, y + 0.25f);
  out[i] = a + b;
  surf2Dwrite(a - b, to, x * 4, y);
}

static float* make_floats(int n) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = 0.25f * static_cast<float>(i);
  float* a = nullptr;
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMemcpy(a, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  return a;
}

static void run_scale() {
  float* a = make_floats(kCount);
  for (int i = 1; i <= 3; ++i) scale<<<8, 128>>>(a, kCount, 1.0f + 0.5f * static_cast<float>(i));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(a));
}

static void run_walk() {
  constexpr int kNodes = 20;
  Node nodes[kNodes];
  Node* on_device[kNodes];
  for (int i = 0; i < kNodes; ++i) CHECK(cudaMalloc(&on_device[i], sizeof(Node)));
  for (int i = 0; i < kNodes; ++i) {
    CHECK(cudaMallocManaged(&nodes[i].value, sizeof(int)));
    *nodes[i].value = i * i;
    nodes[i].next = i + 1 < kNodes ? on_device[i + 1] : nullptr;
    CHECK(cudaMemcpy(on_device[i], &nodes[i], sizeof(Node), cudaMemcpyHostToDevice));
  }
  int* sum = nullptr;
  CHECK(cudaMallocHost(&sum, sizeof(int)));
  *sum = 7;
  walk<<<1, 1>>>(on_device[0], sum);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kNodes; ++i) CHECK(cudaFree(on_device[i]));
  for (int i = 0; i < kNodes; ++i) CHECK(cudaFree(nodes[i].value));
  CHECK(cudaFreeHost(sum));
}

static void run_variables() {
  int* where = nullptr;
  const int values[8] = {10, 20, 30, 40, 50, 60, 70, 80};
  CHECK(cudaMalloc(&where, sizeof values));
  CHECK(cudaMemset(where, 0, sizeof values));
  CHECK(cudaMemcpyToSymbol(weights, values, sizeof values));
  CHECK(cudaMemcpyToSymbol(table, &where, sizeof where));
  variables<<<1, 8>>>();
  variables<<<1, 8>>>();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(where));
}

static void run_shared() {
  float* a = make_floats(4 * 256);
  float* out = nullptr;
  CHECK(cudaMallocAsync(&out, 4 * sizeof(float), nullptr));
  shared_sum<<<4, 256, 256 * sizeof(float)>>>(a, out);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeAsync(out, nullptr));
  CHECK(cudaFree(a));
}

static void run_past() {
  constexpr int kInts = 100;
  int* a = nullptr;
  CHECK(cudaMalloc(&a, kInts * sizeof(int)));
  CHECK(cudaMemset(a, 0, kInts * sizeof(int)));
  past_the_end<<<1, 32>>>(a, kInts - 16);
  cudaDeviceSynchronize(); // the error is the simulated device's answer; a GPU may not see it
}

static void run_map() {
  using Encode =
    CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000,
                                         cudaEnableDefault, &found));
  float* a = make_floats(64 * 32);
  int* out = nullptr;
  CHECK(cudaMalloc(&out, 2 * sizeof(CUtensorMap)));
  CUtensorMap map{};
  const cuuint64_t extents[] = {64, 32}, strides[] = {64 * sizeof(float)};
  const cuuint32_t box[] = {16, 8}, element_strides[] = {1, 1};
  reinterpret_cast<Encode>(encode)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, a, extents, strides,
                                   box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  copy_map<<<1, sizeof map / sizeof(int)>>>(map, out);
  MapAndRoom maps[2] = {}, *on_device = nullptr;
  maps[0].map = maps[1].map = map;
  CHECK(cudaMalloc(&on_device, sizeof maps));
  CHECK(cudaMemcpy(on_device, maps, sizeof maps, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(constant_map, &maps[0], sizeof maps[0]));
  copy_map_in_memory<<<1, sizeof map / sizeof(int)>>>(on_device, out);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(on_device));
  CHECK(cudaFree(out));
  CHECK(cudaFree(a));
}

// What the kernel does not get is there, too, so that handles are no small numbers in order.
static void run_textures() {
  std::vector<float> values(16 * 16 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5f * static_cast<float>(i % 97);
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t levels = nullptr;
  CHECK(
    cudaMallocMipmappedArray(&levels, &floats, make_cudaExtent(16, 16, 3), 3, cudaArrayLayered));
  for (unsigned l = 0; l < 3; ++l) {
    cudaArray_t level = nullptr;
    CHECK(cudaGetMipmappedArrayLevel(&level, levels, l));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr =
      make_cudaPitchedPtr(values.data() + l, (16 >> l) * sizeof(float), 16 >> l, 16 >> l);
    copy.dstArray = level;
    copy.extent = make_cudaExtent(16 >> l, 16 >> l, l == 0 ? 2 : 3);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = levels;
  cudaTextureDesc description = {};
  description.filterMode = description.mipmapFilterMode = cudaFilterModeLinear;
  description.maxMipmapLevelClamp = 3;
  description.normalizedCoords = 1;
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeMirror;
  cudaTextureObject_t unused = 0, of_levels = 0, of_rows = 0;
  CHECK(cudaCreateTextureObject(&unused, &resource, &description, nullptr));
  CHECK(cudaCreateTextureObject(&of_levels, &resource, &description, nullptr));
  CHECK(cudaDestroyTextureObject(unused));
  float* rows = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, 9 * sizeof(float), 9));
  CHECK(cudaMemcpy2D(rows, pitch, values.data(), 36, 36, 9, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {rows, floats, 9, 9, pitch};
  description.normalizedCoords = 0;
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeBorder;
  description.borderColor[0] = 3;
  CHECK(cudaCreateTextureObject(&of_rows, &resource, &description, nullptr));
  cudaArray_t written = nullptr;
  CHECK(cudaMallocArray(&written, &floats, 8, 8, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(written, 0, 0, values.data(), 32, 32, 8, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = written;
  cudaSurfaceObject_t to = 0;
  CHECK(cudaCreateSurfaceObject(&to, &resource));
  float* out = make_floats(64);
  filter<<<1, 64>>>(of_levels, of_rows, to, out);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaDestroyTextureObject(of_levels));
  CHECK(cudaDestroyTextureObject(of_rows));
  CHECK(cudaDestroySurfaceObject(to));
  CHECK(cudaFreeMipmappedArray(levels));
  CHECK(cudaFreeArray(written));
  CHECK(cudaFree(rows));
  CHECK(cudaFree(out));
}

// The kernel ends its context.
static void run_null() {
  through_null<<<1, 1>>>(nullptr, 4);
  cudaDeviceSynchronize();
}

static void run_graph() {
  float* a = make_floats(kCount);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<8, 128, 0, stream>>>(a, kCount, 2.0f);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(a));
}

// 4 MiB that cannot be packed.
static void run_noise() {
  std::vector<unsigned> bits(1 << 20);
  std::mt19937 random(1);
  for (unsigned& one : bits) one = static_cast<unsigned>(random());
  float* a = nullptr;
  CHECK(cudaMalloc(&a, bits.size() * sizeof bits[0]));
  CHECK(cudaMemcpy(a, bits.data(), bits.size() * sizeof bits[0], cudaMemcpyHostToDevice));
  scale<<<1, 1>>>(a, 1, 1.0f);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(a));
}

// What runs elsewhere ends only behind the launch.
static void wait_for_flag(void* flag) {
  while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
}

static void run_waits() {
  static std::atomic<bool> flag{false};
  float* a = make_floats(kCount);
  cudaStream_t first = nullptr, second = nullptr;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  scale<<<8, 128, 0, second>>>(a, kCount, 2.0f); // loads the code: a GPU may wait for all work then
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaLaunchHostFunc(first, wait_for_flag, &flag));
  scale<<<8, 128, 0, second>>>(a, kCount, 2.0f);
  CHECK(cudaGetLastError());
  flag.store(true);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaFree(a));
}

// A kernel that waits for what the host does behind its launch: on a GPU alone.
static void run_polls() {
  volatile int* flag = nullptr;
  CHECK(cudaMallocHost(const_cast<int**>(&flag), sizeof *flag));
  *flag = 0;
  poll<<<1, 1>>>(flag);
  CHECK(cudaGetLastError());
  *flag = 1;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeHost(const_cast<int*>(flag)));
}

// The second launch is beside a stream that is captured.
static void run_beside() {
  float* a = make_floats(kCount);
  cudaStream_t captured = nullptr, other = nullptr;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamCreate(&captured));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  scale<<<8, 128, 0, other>>>(a, kCount, 2.0f); // loads the code
  CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
  scale<<<8, 128, 0, other>>>(a, kCount, 2.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamEndCapture(captured, &graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(captured));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaFree(a));
}

// The process is killed while its kernel runs: as soon as the file is there.
static void run_killed() {
  std::thread([] {
    const std::string path = "gpumemtrace.count_up.1." + std::to_string(getpid()) + ".capture";
    while (access(path.c_str(), F_OK) != 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    raise(SIGKILL);
  }).detach();
  int* a = nullptr;
  CHECK(cudaMalloc(&a, sizeof(int)));
  count_up<<<1, 1>>>(a, 1LL << 40);
  cudaDeviceSynchronize();
}

// The handle of a kernel that is unloaded may be another one's next.
static void run_reloaded() {
  static const char* const code = ".version 7.5\n.target sm_75\n.address_size 64\n"
                                  ".visible .entry %s() { ret; }\n";
  CHECK(cudaFree(nullptr));
  cudaKernel_t before = nullptr;
  for (const char* name : {"first_one", "second_one"}) {
    cudaKernel_t kernel = nullptr;
    for (int i = 0; i < 100 && (i == 0 || (before != nullptr && kernel != before)); ++i) {
      cudaLibrary_t library = nullptr;
      char text[200];
      std::snprintf(text, sizeof text, code, name);
      CHECK(cudaLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
      CHECK(cudaLibraryGetKernel(&kernel, library, name));
      const bool is_last = before == nullptr || kernel == before || i == 99;
      if (is_last) CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr));
      CHECK(cudaDeviceSynchronize());
      CHECK(cudaLibraryUnload(library));
    }
    before = kernel;
  }
}

int main(int count, char** words) {
  const char* scene = count > 1 ? words[1] : "scale";
  if (std::strcmp(scene, "scale") == 0) run_scale();
  if (std::strcmp(scene, "walk") == 0) run_walk();
  if (std::strcmp(scene, "variables") == 0) run_variables();
  if (std::strcmp(scene, "shared") == 0) run_shared();
  if (std::strcmp(scene, "past") == 0) run_past();
  if (std::strcmp(scene, "map") == 0) run_map();
  if (std::strcmp(scene, "textures") == 0) run_textures();
  if (std::strcmp(scene, "null") == 0) run_null();
  if (std::strcmp(scene, "graph") == 0) run_graph();
  if (std::strcmp(scene, "noise") == 0) run_noise();
  if (std::strcmp(scene, "waits") == 0) run_waits();
  if (std::strcmp(scene, "beside") == 0) run_beside();
  if (std::strcmp(scene, "polls") == 0) run_polls();
  if (std::strcmp(scene, "killed") == 0) run_killed();
  if (std::strcmp(scene, "reloaded") == 0) run_reloaded();
  return 0;
}
