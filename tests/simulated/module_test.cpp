// SPDX-License-Identifier: Apache-2.0
// Unit tests of the simulated driver seen without the runtime: lookup of functions, contexts,
// modules from PTX text. Functions come from dlsym on libcuda.so.1, as a program of the driver API
// gets them.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

void* library() {
  static void* const handle = dlopen("libcuda.so.1", RTLD_NOW);
  return handle;
}

template <class Function>
Function symbol(const char* name) {
  void* address = dlsym(library(), name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<Function>(address);
}

// cuda.h renames functions to their newest version; the string after the macro has run is the
// exported name.
#define NAME_OF(name) NAME_AFTER_EXPANSION(name)
#define NAME_AFTER_EXPANSION(name) #name
#define DRIVER(name) symbol<decltype(&::name)>(NAME_OF(name))

struct Context {
  Context() {
    EXPECT_EQ(DRIVER(cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxCreate)(&handle, nullptr, 0, 0), CUDA_SUCCESS);
  }
  ~Context() { DRIVER(cuCtxDestroy)(handle); }
  CUcontext handle = nullptr;
};

constexpr char kPtx[] = R"(
.version 9.0
.target sm_90
.address_size 64
.global .align 4 .b8 table[400];
.visible .entry add(
	.param .u64 .ptr .align 1 add_param_0,
	.param .u32 add_param_1,
	.param .align 8 .b8 add_param_2[24]
)
{
	ret;
}
)";

struct Lookup {
  const char* base;
  int version;
  cuuint64_t flags;
  const char* symbol;
};

TEST(Driver, LookupFollowsVersionAndFlags) {
  const Lookup lookups[] = {
    {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
    {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
    {"cuMemAlloc", 13000, 2, "cuMemAlloc_v2"},
    {"cuMemcpyHtoD", 13000, 0, "cuMemcpyHtoD_v2"},
    {"cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds"},
    {"cuMemcpyHtoD", 3020, 2, "cuMemcpyHtoD_v2"},
    {"cuMemAllocAsync", 13000, 2, "cuMemAllocAsync_ptsz"},
    {"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
    {"cuStreamGetCaptureInfo", 11030, 2, "cuStreamGetCaptureInfo_v2_ptsz"},
    {"cuStreamGetCaptureInfo", 13000, 0, "cuStreamGetCaptureInfo_v3"},
    {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
  };
  const auto get = DRIVER(cuGetProcAddress);
  for (const Lookup& lookup : lookups) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(get(lookup.base, &found, lookup.version, lookup.flags, &status), CUDA_SUCCESS);
    EXPECT_EQ(found, dlsym(library(), lookup.symbol)) << lookup.symbol;
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  }
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(get("cuMemAllocAsync", &found, 11010, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(get("cuMemAlloc", &found, 14000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST(Driver, MemoryEndsWithItsContext) {
  CUdeviceptr address = 0;
  {
    const Context context;
    ASSERT_EQ(DRIVER(cuMemAlloc)(&address, 100), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemAlloc)(&address, 0), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(DRIVER(cuMemFree)(address), CUDA_ERROR_INVALID_CONTEXT);
  const Context another;
  EXPECT_EQ(DRIVER(cuMemFree)(address), CUDA_ERROR_INVALID_VALUE);
}

TEST(Driver, PtxNamesKernelsParametersAndVariables) {
  const Context context;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(DRIVER(cuModuleLoadData)(&module, kPtx), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuModuleGetFunction)(&function, module, "subtract"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(DRIVER(cuModuleGetFunction)(&function, module, "add"), CUDA_SUCCESS);
  const char* name = nullptr;
  ASSERT_EQ(DRIVER(cuFuncGetName)(&name, function), CUDA_SUCCESS);
  EXPECT_STREQ(name, "add");
  size_t offset = 0, size = 0;
  ASSERT_EQ(DRIVER(cuFuncGetParamInfo)(function, 2, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(size, 24u);
  EXPECT_EQ(DRIVER(cuFuncGetParamInfo)(function, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr table = 0;
  ASSERT_EQ(DRIVER(cuModuleGetGlobal)(&table, &size, module, "table"), CUDA_SUCCESS);
  EXPECT_EQ(size, 400u);
  EXPECT_EQ(DRIVER(cuMemFree)(table), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuLaunchKernel)(function, 0, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuModuleUnload)(module), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuModuleUnload)(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(DRIVER(cuModuleLoadData)(&module, "no code at all"), CUDA_ERROR_INVALID_IMAGE);
}

TEST(Driver, EverythingNeedsCuInitAndAContext) {
  const auto child = [] {
    CUdeviceptr address = 0;
    const bool right = DRIVER(cuMemAlloc)(&address, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                       DRIVER(cuInit)(0) == CUDA_SUCCESS &&
                       DRIVER(cuMemAlloc)(&address, 1) == CUDA_ERROR_INVALID_CONTEXT;
    std::_Exit(right ? 0 : 1);
  };
  // A fresh process: CUDA does not survive fork
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

} // namespace
