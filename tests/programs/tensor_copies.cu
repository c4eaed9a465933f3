// SPDX-License-Identifier: Apache-2.0
// Copies by the tensor memory accelerator: maps of 1 to 5 dimensions, swizzles, boxes that reach over the edges, stores
// and sums. The results are those of an H100.
//
// compute capability: 90
// run: right
// expect: warning api-error count=14 api=cuTensorMapEncodeTiled
// run: apart
// device: simulated
// expect: error kernel-fault line=LINE(load) message="no multiple of 16"
// not-checked: leak
// run: beyond
// unlike-fenced: what lies past a fence ends the kernel
// device: simulated
// expect: error kernel-out-of-bounds line=LINE(load)
#include "answers.h"
#include <cuda.h>
#include <cuda_runtime.h>

using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 kShared = 48 * 1024, kBytes = 1 << 20;

__device__ u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

struct Corner { int at[5]; };

__device__ void load(u32 rank, u32 to, const CUtensorMap* map, const Corner& p, u32 object)
{
  const int *c = p.at;
#define LOAD(dim, coordinates, ...)                                                                                      \
  asm volatile("cp.async.bulk.tensor." dim ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
               "}], [%2];" ::"r"(to), "l"(map), "r"(object), __VA_ARGS__ : "memory")
  if (rank == 1) LOAD("1d", "%3", "r"(c[0])); // @load1
  if (rank == 2) LOAD("2d", "%3, %4", "r"(c[0]), "r"(c[1])); // @load
  if (rank == 3) LOAD("3d", "%3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]));
  if (rank == 4) LOAD("4d", "%3, %4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
  if (rank == 5) LOAD("5d", "%3, %4, %5, %6, %7", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
#undef LOAD
}

__device__ void store(u32 rank, u32 from, const CUtensorMap* map, const Corner& p)
{
  const int *c = p.at;
#define STORE(dim, coordinates, ...)                                                                                     \
  asm volatile("cp.async.bulk.tensor." dim ".global.shared::cta.tile.bulk_group [%0, {" coordinates "}], [%1];" ::"l"(map),   \
               "r"(from), __VA_ARGS__ : "memory")
  if (rank == 1) STORE("1d", "%2", "r"(c[0]));
  if (rank == 2) STORE("2d", "%2, %3", "r"(c[0]), "r"(c[1]));
  if (rank == 3) STORE("3d", "%2, %3, %4", "r"(c[0]), "r"(c[1]), "r"(c[2]));
#undef STORE
}

__device__ void reduce(u32 what, u32 from, const CUtensorMap* map, const Corner& p)
{
#define REDUCE(op)                                                                                                       \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),   \
               "r"(from), "r"(p.at[0]), "r"(p.at[1]) : "memory")
  if (what == 0) REDUCE("add");
  if (what == 1) REDUCE("min");
  if (what == 2) REDUCE("max");
  if (what == 3) REDUCE("and");
  if (what == 4) REDUCE("or");
  if (what == 5) REDUCE("xor");
#undef REDUCE
}

__device__ void wait(u32 object)
{
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(object) : "memory");
}

// A box of the tensor, as it lies in shared memory.
__global__ void take(const __grid_constant__ CUtensorMap map, u32 rank, Corner corner, u32 bytes, unsigned char* out)
{
  extern __shared__ __align__(1024) unsigned char box[];
  __shared__ __align__(8) u64 gate;
  const u32 object = shared_address(&gate);
  for (u32 i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = 0xee;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(object) : "memory");
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(object), "r"(bytes) : "memory");
    load(rank, shared_address(box), &map, corner, object);
  }
  wait(object);
  for (u32 i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = box[i];
}

// A box of numbers into the tensor; `what` 6: it replaces what is there.
__global__ void give(const __grid_constant__ CUtensorMap map, u32 rank, Corner corner, u32 bytes, u32 what)
{
  extern __shared__ __align__(1024) unsigned char box[];
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) reinterpret_cast<u32*>(box)[i] = (i * 2654435761u >> 7) & 0x3fffff;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    if (what == 6) store(rank, shared_address(box), &map, corner);
    else reduce(what, shared_address(box), &map, corner);
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
Encode encode;
unsigned char *tensor, *out;

struct Case {
  const char* name;
  CUtensorMapDataType type;
  u32 size, rank;
  u64 dims[5], strides[4];
  u32 box[5];
  int corner[5];
  int swizzle = 0, fill = 0, interleave = 0;
  u32 steps[5] = {1, 1, 1, 1, 1};
};

constexpr auto U8 = CU_TENSOR_MAP_DATA_TYPE_UINT8, U16 = CU_TENSOR_MAP_DATA_TYPE_UINT16, U32 = CU_TENSOR_MAP_DATA_TYPE_UINT32,
               S32 = CU_TENSOR_MAP_DATA_TYPE_INT32, U64 = CU_TENSOR_MAP_DATA_TYPE_UINT64, F16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
               F32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, F64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64, BF16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;

int make(CUtensorMap* map, const Case& c)
{
  return encode(map, c.type, c.rank, tensor, reinterpret_cast<const cuuint64_t*>(c.dims),
                reinterpret_cast<const cuuint64_t*>(c.strides), c.box, c.steps, static_cast<CUtensorMapInterleave>(c.interleave),
                static_cast<CUtensorMapSwizzle>(c.swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                static_cast<CUtensorMapFloatOOBfill>(c.fill));
}

u32 bytes_of(const Case& c)
{
  u32 bytes = c.size;
  for (u32 i = 0; i < c.rank; ++i) bytes *= (c.box[i] + (i != 0 ? c.steps[i] : 1) - 1) / (i != 0 ? c.steps[i] : 1);
  return bytes;
}

u64 hash_of(const unsigned char* device, u32 bytes)
{
  static unsigned char copied[kBytes];
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(copied, device, bytes, cudaMemcpyDefault));
  u64 hash = 1469598103934665603ull;
  for (u32 i = 0; i < bytes; ++i) hash = (hash ^ copied[i]) * 1099511628211ull;
  return hash;
}

bool has_failed = false;

void expect(const char* name, u64 got, u64 wanted)
{
  if (got == wanted) return;
  std::fprintf(stderr, "%s: %llu, not %llu\n", name, got, wanted);
  has_failed = true;
}

Corner corner_of(const Case& c)
{
  Corner corner;
  for (int i = 0; i < 5; ++i) corner.at[i] = c.corner[i];
  return corner;
}

void fill()
{
  static u32 numbers[kBytes / 4];
  for (u32 i = 0; i < kBytes / 4; ++i) numbers[i] = (i * 2246822519u >> 5) & 0x3fffffff;
  CHECK(cudaMemcpy(tensor, numbers, kBytes, cudaMemcpyDefault));
}

const Case kLoads[] = {
  {"1d", U32, 4, 1, {1000}, {}, {64}, {96}},
  {"1d over the end", U32, 4, 1, {1000}, {}, {256}, {900}},
  {"1d bytes", U8, 1, 1, {5000}, {}, {48}, {32}},
  {"2d", F32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}},
  {"2d before the beginning", F32, 4, 2, {100, 50}, {400}, {32, 16}, {-4, -3}},
  {"2d over the end", F32, 4, 2, {100, 50}, {400}, {32, 16}, {88, 45}},
  {"2d outside", U16, 2, 2, {128, 64}, {256}, {64, 8}, {504, 3}},
  {"2d swizzle 32", U16, 2, 2, {128, 64}, {256}, {16, 32}, {16, 5}, 1},
  {"2d swizzle 64", U16, 2, 2, {128, 64}, {256}, {32, 32}, {32, 5}, 2},
  {"2d swizzle 128", U16, 2, 2, {128, 64}, {256}, {64, 32}, {64, 5}, 3},
  {"2d swizzle 128 over the edges", U16, 2, 2, {128, 64}, {256}, {64, 32}, {104, 50}, 3},
  {"2d swizzle 128 of a narrow box", F32, 4, 2, {128, 64}, {512}, {8, 32}, {8, 5}, 3},
  {"2d doubles", F64, 8, 2, {40, 60}, {320}, {16, 20}, {30, 45}, 3},
  {"2d words of 8 bytes", U64, 8, 2, {40, 60}, {320}, {8, 20}, {-4, 45}},
  {"2d bytes", U8, 1, 2, {300, 60}, {304}, {64, 20}, {240, 45}},
  {"2d nan", F32, 4, 2, {100, 50}, {400}, {32, 16}, {88, 45}, 0, 1},
  {"2d nan of halves", F16, 2, 2, {100, 50}, {208}, {32, 16}, {88, 45}, 0, 1},
  {"2d nan of bf16", BF16, 2, 2, {100, 50}, {208}, {32, 16}, {88, 45}, 0, 1},
  {"2d nan of doubles", F64, 8, 2, {40, 60}, {320}, {16, 20}, {30, 45}, 0, 1},
  {"2d every third row", F32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}, 0, 0, 0, {1, 3, 1, 1, 1}},
  {"2d every second element", F32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}, 0, 0, 0, {2, 2, 1, 1, 1}},
  {"3d", U32, 4, 3, {40, 20, 10}, {160, 3200}, {16, 8, 4}, {4, 5, 3}},
  {"3d over the edges", U32, 4, 3, {40, 20, 10}, {160, 3200}, {16, 8, 4}, {28, -2, 8}},
  {"3d swizzle 64", U32, 4, 3, {40, 20, 10}, {160, 3200}, {16, 8, 4}, {4, 5, 3}, 2},
  {"4d", U16, 2, 4, {32, 12, 10, 8}, {64, 768, 7680}, {16, 4, 4, 3}, {8, 3, -1, 6}},
  {"5d", U8, 1, 5, {32, 6, 5, 4, 3}, {32, 192, 960, 3840}, {16, 3, 2, 3, 2}, {16, 4, 1, 2, -1}},
  {"5d steps", U8, 1, 5, {32, 6, 5, 4, 3}, {32, 192, 960, 3840}, {16, 4, 4, 3, 3}, {16, 1, 1, 0, 0}, 0, 0, 0, {1, 2, 3, 2, 1}},
};

const Case kStores[] = {
  {"store 1d", U32, 4, 1, {1000}, {}, {256}, {900}},
  {"store 2d", F32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}},
  {"store 2d swizzle 128", U16, 2, 2, {128, 64}, {256}, {64, 32}, {64, 5}, 3},
  {"store 2d over the end", F32, 4, 2, {100, 50}, {400}, {32, 16}, {88, 45}},
  {"store 3d over the end", U32, 4, 3, {40, 20, 10}, {160, 3200}, {16, 8, 4}, {28, 15, 8}},
};

const Case kSums[] = {
  {"add", U32, 4, 2, {100, 50}, {400}, {32, 16}, {88, 8}},
  {"min", S32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}},
  {"max", U32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}},
  {"or", U32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}, 3},
  {"xor", U64, 8, 2, {50, 50}, {400}, {16, 16}, {32, 8}},
  {"add of floats", F32, 4, 2, {100, 50}, {400}, {32, 16}, {32, 8}},
};

// What an H100 gave.
const u64 kWantedLoads[] = {4870876952379004306ull, 9899462309458625800ull, 17643175127353798645ull, 6751157805934032650ull, 15987207781833119493ull, 13468285599961880569ull, 14458285009550783363ull, 6718729284633581586ull, 2864623674160431120ull, 14134355864277207643ull, 17818895804912027921ull, 5847730620448147809ull, 9779911064542023128ull, 953070983770632701ull, 11727815954758049370ull, 5952966966911264937ull, 432705705654472177ull, 432705705654472177ull, 3707444478295631128ull, 15032282401068073542ull, 7998955883452820816ull, 17899431305970778528ull, 5512098562011804897ull, 10132983434870003944ull, 11939881056233779299ull, 5741493622526275966ull, 15158405951005239130ull};
const u64 kWantedStores[] = {9525546636002637891ull, 5462600727935016290ull, 4756024807663583980ull, 12296280848527232570ull, 6974314208286765356ull};
const u64 kWantedSums[] = {11168927474006379570ull, 12155859103397688290ull, 4489739595310100420ull, 14040792405485452467ull, 12557502329387267207ull, 13318325943571606465ull};

// Maps that CUDA refuses, or does not.
const Case kMaps[] = {
  {"rank 0", U32, 4, 0, {100, 50}, {400}, {32, 16}, {}},
  {"rank 6", U32, 4, 6, {100, 50}, {400}, {32, 16}, {}},
  {"size 0", U32, 4, 2, {0, 50}, {400}, {32, 16}, {}},
  {"stride no multiple of 16", U32, 4, 2, {100, 50}, {404}, {32, 16}, {}},
  {"stride too small", U32, 4, 2, {100, 50}, {320}, {32, 16}, {}},
  {"stride 0", U32, 4, 2, {100, 50}, {0}, {32, 16}, {}},
  {"box of 0", U32, 4, 2, {100, 50}, {400}, {0, 16}, {}},
  {"box of 257", U32, 4, 2, {1000, 500}, {4000}, {4, 257}, {}},
  {"box of 12 bytes", U32, 4, 2, {100, 50}, {400}, {3, 16}, {}},
  {"box wider than swizzle 32", U32, 4, 2, {100, 50}, {400}, {16, 16}, {}, 1},
  {"box wider than swizzle 128", U32, 4, 2, {100, 50}, {400}, {64, 16}, {}, 3},
  {"step 0", U32, 4, 2, {100, 50}, {400}, {32, 16}, {}, 0, 0, 0, {1, 0, 1, 1, 1}},
  {"step 9", U32, 4, 2, {100, 50}, {400}, {32, 16}, {}, 0, 0, 0, {1, 9, 1, 1, 1}},
  {"nan of integers", U32, 4, 2, {100, 50}, {400}, {32, 16}, {}, 0, 1},
  {"interleave 16 of two dimensions", U16, 2, 2, {128, 50}, {256}, {8, 16}, {}, 0, 0, 1},
  {"box larger than the tensor", U32, 4, 2, {20, 5}, {80}, {32, 16}, {}},
  {"box of 300 KiB", U32, 4, 3, {256, 256, 256}, {1024, 262144}, {256, 256, 4}, {}},
};

int main(int argc, char** argv)
{
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaFree(nullptr));
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
  encode = reinterpret_cast<Encode>(found);
  CHECK(cudaMalloc(&tensor, kBytes));
  CHECK(cudaMalloc(&out, kBytes));
  CHECK(cudaMemset(out, 0, kBytes));
  fill();
  if (started_with(argc, argv, "beyond") || started_with(argc, argv, "apart")) {
    const int column = started_with(argc, argv, "apart") ? 30 : 32;
    const Case far = {"beyond", F32, 4, 2, {100, 4000}, {400}, {32, 16}, {column, 2616}};
    CUtensorMap map;
    CHECK(make(&map, far));
    take<<<1, 64, kShared - 1024>>>(map, 2, corner_of(far), bytes_of(far), out);
    cudaDeviceSynchronize();
    cudaFree(tensor);
    cudaFree(out);
    return 0;
  }
  CUtensorMap map;
  u32 number = 0;
  for (const Case& c : kLoads) {
    CHECK(make(&map, c));
    take<<<1, 64, kShared - 1024>>>(map, c.rank, corner_of(c), bytes_of(c), out);
    expect(c.name, hash_of(out, bytes_of(c)), kWantedLoads[number++]);
  }
  number = 0;
  for (const Case& c : kStores) {
    fill();
    CHECK(make(&map, c));
    give<<<1, 64, kShared - 1024>>>(map, c.rank, corner_of(c), bytes_of(c), 6);
    expect(c.name, hash_of(tensor, 65536), kWantedStores[number++]);
  }
  const u32 operations[] = {0, 1, 2, 4, 5, 0};
  number = 0;
  for (const Case& c : kSums) {
    fill();
    CHECK(make(&map, c));
    give<<<1, 64, kShared - 1024>>>(map, 2, corner_of(c), bytes_of(c), operations[number]);
    expect(c.name, hash_of(tensor, 65536), kWantedSums[number++]);
  }
  const int answers[] = {1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1};
  number = 0;
  for (const Case& c : kMaps) expect(c.name, make(&map, c), answers[number++]);
  cudaFree(tensor);
  cudaFree(out);
  return has_failed ? 3 : 0;
}
