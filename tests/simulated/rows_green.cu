// SPDX-License-Identifier: Apache-2.0
// Multiprocessors: parts of them and green contexts, and how many clusters run at once on them.
#include "driver_answers.h"

namespace {

CUdevResource whole_device() {
  CUdevResource whole{};
  DRIVER(cuDeviceGetDevResource)(0, &whole, CU_DEV_RESOURCE_TYPE_SM);
  return whole;
}

// "15x8+12": parts, processors of each, and what is left over.
std::string parts(unsigned flags, unsigned least, unsigned most = 132) {
  const CUdevResource whole = whole_device();
  std::vector<CUdevResource> made(132);
  CUdevResource rest{};
  unsigned count = most;
  const CUresult error =
    DRIVER(cuDevSmResourceSplitByCount)(made.data(), &count, &whole, &rest, flags, least);
  if (error != CUDA_SUCCESS) return std::to_string(error);
  return std::to_string(count) + "x" + std::to_string(made[0].sm.smCount) + "+" +
         std::to_string(rest.sm.smCount);
}

struct Green {
  explicit Green(unsigned least) {
    const CUdevResource whole = whole_device();
    CUdevResource part{};
    unsigned count = 1;
    DRIVER(cuDevSmResourceSplitByCount)(&part, &count, &whole, nullptr, 0, least);
    CUdevResourceDesc description = nullptr;
    DRIVER(cuDevResourceGenerateDesc)(&description, &part, 1);
    created = DRIVER(cuGreenCtxCreate)(&handle, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
  }
  CUgreenCtx handle = nullptr;
  CUresult created;
};

__global__ void nothing() {}

std::string clusters(unsigned size, unsigned threads, unsigned shared) {
  const auto* kernel = reinterpret_cast<const void*>(nothing);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(shared));
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = size;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(size * 10);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int count = -1;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&count, nothing, &config);
  return error == cudaSuccess ? std::to_string(count) : answer(error);
}

const std::vector<Row> kRows = {
  {"the device's multiprocessors", "132 8 8",
   [] {
     const CUdevResource whole = whole_device();
     return answers({static_cast<int>(whole.sm.smCount),
                     static_cast<int>(whole.sm.minSmPartitionSize),
                     static_cast<int>(whole.sm.smCoscheduledAlignment)});
   }},
  {"resources of no kind, of no device, nowhere", "914 914 101 1",
   [] {
     CUdevResource out{};
     auto* ask = DRIVER(cuDeviceGetDevResource);
     return answers({ask(0, &out, CU_DEV_RESOURCE_TYPE_INVALID),
                     ask(0, &out, static_cast<CUdevResourceType>(77)),
                     ask(9, &out, CU_DEV_RESOURCE_TYPE_SM),
                     ask(0, nullptr, CU_DEV_RESOURCE_TYPE_SM)});
   }},
  {"parts of multiprocessors",
   "15x8+12 15x8+12 8x16+4 5x24+12 4x32+4 3x40+12 2x48+36 1x72+60 1x132+0 915",
   [] {
     std::string all;
     for (const unsigned least : {0u, 8u, 9u, 17u, 30u, 33u, 44u, 65u, 129u, 133u})
       all += (all.empty() ? "" : " ") + parts(0, least);
     return all;
   }},
  {"parts without clusters", "66x2+0 33x4+0 16x8+4 11x12+0 3x44+0 2x66+0 1x130+2 915",
   [] {
     std::string all;
     for (const unsigned least : {0u, 3u, 7u, 12u, 44u, 65u, 129u, 133u})
       all += (all.empty() ? "" : " ") + parts(1, least);
     return all;
   }},
  {"parts for large clusters, for both, for what is no flag", "8x16+4 1x132+0 1 8x16+4",
   [] { return parts(2, 9) + " " + parts(2, 129) + " " + parts(3, 9) + " " + parts(4, 9); }},
  {"fewer parts than there could be", "1 1x8+124 1x24+108",
   [] { return parts(0, 8, 0) + " " + parts(0, 8, 1) + " " + parts(0, 20, 1); }},
  {"a green context that has ended: again, a stream of it", "0 0 709 709",
   [] {
     const Green green(16);
     CUstream stream = nullptr;
     const CUresult first = DRIVER(cuGreenCtxDestroy)(green.handle);
     return answers(
       {green.created, first, DRIVER(cuGreenCtxDestroy)(green.handle),
        DRIVER(cuGreenCtxStreamCreate)(&stream, green.handle, CU_STREAM_NON_BLOCKING, 0)});
   }},
  {"a green context: its processors, its context's handle, id, streams' contexts",
   "16 8 1 1 0 1 1 1 0",
   [] {
     const Green green(16);
     CUdevResource part{};
     CUcontext context = nullptr, current = nullptr, of_stream = nullptr;
     unsigned long long id = 0, own = 0, primary = 0;
     CUstream stream = nullptr;
     CUgreenCtx of = nullptr, none = green.handle;
     DRIVER(cuCtxGetCurrent)(&current);
     DRIVER(cuGreenCtxGetDevResource)(green.handle, &part, CU_DEV_RESOURCE_TYPE_SM);
     DRIVER(cuCtxFromGreenCtx)(&context, green.handle);
     DRIVER(cuGreenCtxGetId)(green.handle, &id);
     DRIVER(cuCtxGetId)(context, &own);
     DRIVER(cuCtxGetId)(current, &primary);
     DRIVER(cuGreenCtxStreamCreate)(&stream, green.handle, CU_STREAM_NON_BLOCKING, 0);
     driver_function<CUresult(CUstream, CUcontext*, CUgreenCtx*)>("cuStreamGetCtx")(
       stream, &of_stream, &of);
     DRIVER(cuStreamGetGreenCtx)(nullptr, &none);
     const std::string got =
       answers({static_cast<int>(part.sm.smCount), static_cast<int>(part.sm.minSmPartitionSize),
                static_cast<const void*>(context) == static_cast<const void*>(green.handle),
                id == own, id == primary, of_stream == current, of == green.handle, none == nullptr,
                static_cast<int>(DRIVER(cuGreenCtxDestroy)(green.handle))});
     return got;
   }},
  {"a green context of what is left over, of a part twice, of a default stream", "100 2 0 1",
   [] {
     const CUdevResource whole = whole_device();
     CUdevResource made[2]{}, rest{};
     unsigned count = 2;
     DRIVER(cuDevSmResourceSplitByCount)(made, &count, &whole, &rest, 0, 16);
     CUdevResourceDesc description = nullptr;
     DRIVER(cuDevResourceGenerateDesc)(&description, &rest, 1);
     CUgreenCtx green = nullptr;
     DRIVER(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
     CUdevResource of{};
     DRIVER(cuGreenCtxGetDevResource)(green, &of, CU_DEV_RESOURCE_TYPE_SM);
     CUdevResource twice[] = {made[0], made[0]};
     CUstream stream = nullptr;
     const int described = DRIVER(cuDevResourceGenerateDesc)(&description, twice, 2);
     const int created = DRIVER(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_DEFAULT, 0);
     DRIVER(cuGreenCtxDestroy)(green);
     return answers({static_cast<int>(of.sm.smCount), static_cast<int>(of.sm.minSmPartitionSize),
                     described, created});
   }},
  {"clusters at once: one block of a processor", "132 66 39 30 22 17 15 15 9 7 7 7 2",
   [] {
     std::string all;
     for (const unsigned size : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 12u, 16u, 17u})
       all += (all.empty() ? "" : " ") + clusters(size, 32, 200000);
     return all;
   }},
  {"clusters at once: several blocks of a processor", "1056 327 124 102 58 396 92 21 264 30 14",
   [] {
     std::string all;
     for (const unsigned size : {1u, 3u, 8u, 9u, 16u}) all += clusters(size, 32, 0) + " ";
     for (const unsigned size : {1u, 4u, 16u}) all += clusters(size, 32, 65536) + " ";
     return all + clusters(1, 1024, 0) + " " + clusters(8, 1024, 0) + " " + clusters(16, 1024, 0);
   }},
};

} // namespace

const std::vector<Row>& green_rows() { return kRows; }
