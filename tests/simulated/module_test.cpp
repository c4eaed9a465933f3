// SPDX-License-Identifier: Apache-2.0
// Unit tests of the simulated driver seen without the runtime: lookup of functions, contexts,
// modules from PTX text. Functions come from dlsym on libcuda.so.1, as a program of the driver API
// gets them.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

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

// What a GPU's driver cannot translate it does not load, and says why.
TEST(Driver, InvalidPtxIsRefused) {
  Context context;
  const std::string start =
    ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n";
  struct Wrong {
    const char* code;
    const char* said;
  };
  for (const Wrong& wrong : {Wrong{"add.s32 %r1, %r2, 3;\nret;\n}", "line 6; error   : "},
                             Wrong{".reg .b32 %r<3>;\nadd.s32 %r1, %r2 3;\nret;\n}", "line 7; "},
                             Wrong{".reg .b32 %r<3>;\nfrob.s32 %r1, %r2;\nret;\n}",
                                   "line 7; error   : there is no instruction 'frob'"},
                             Wrong{"bra nowhere;\n}", "line 6; "}, Wrong{"ret;\n", "error   : "}}) {
    SCOPED_TRACE(wrong.code);
    const std::string text = start + wrong.code;
    char errors[400] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
    CUmodule module = nullptr;
    EXPECT_EQ(DRIVER(cuModuleLoadDataEx)(&module, text.c_str(), 2, options, values),
              CUDA_ERROR_INVALID_PTX);
    EXPECT_NE(std::string(errors).find(wrong.said), std::string::npos) << errors;
    CUlibrary code = nullptr;
    EXPECT_EQ(
      DRIVER(cuLibraryLoadData)(&code, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      CUDA_ERROR_INVALID_PTX);
    CUlinkState link = nullptr;
    ASSERT_EQ(DRIVER(cuLinkCreate)(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()),
                                    text.size() + 1, "text", 0, nullptr, nullptr),
              CUDA_ERROR_INVALID_PTX);
    DRIVER(cuLinkDestroy)(link);
  }
}

// Of versions and devices that an H100's driver does not translate. PTX of a later CUDA 13 runs.
TEST(Driver, PtxForOthersIsRefused) {
  Context context;
  struct Wrong {
    const char *version, *target;
    CUresult answer;
    const char* said;
  };
  for (const Wrong& one :
       {Wrong{"8.9", "sm_52", CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
              "ptxas application ptx input, line 2; fatal   : Unsupported .version 8.9; current "
              "version is '9.0'\n"},
        Wrong{"99.9", "sm_52", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "line 2; fatal   : Unsupported"},
        Wrong{"9.0", "sm_100a", CUDA_ERROR_INVALID_PTX, "ptxas fatal   : SM version specified by"},
        Wrong{"8.8", "sm_120, debug", CUDA_ERROR_INVALID_PTX, "higher than default SM version"},
        Wrong{"9.00", "sm_90a", CUDA_SUCCESS, ""}, Wrong{"9.2", "compute_90", CUDA_SUCCESS, ""},
        Wrong{"5.0", "sm_10", CUDA_SUCCESS, ""}}) {
    SCOPED_TRACE(one.version + std::string(" ") + one.target);
    const std::string text = "// by hand\n.version " + std::string(one.version) + "\n.target " +
                             one.target + "\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
    char errors[400] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
    CUmodule module = nullptr;
    EXPECT_EQ(DRIVER(cuModuleLoadDataEx)(&module, text.c_str(), 2, options, values), one.answer);
    EXPECT_NE(std::string(errors).find(one.said), std::string::npos) << errors;
    CUlinkState link = nullptr;
    ASSERT_EQ(DRIVER(cuLinkCreate)(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()),
                                    text.size() + 1, "text", 0, nullptr, nullptr),
              one.answer);
    DRIVER(cuLinkDestroy)(link);
  }
}

// Each text has its own variable, function and kernel of the same names.
TEST(Driver, NamesOfOneTextAreItsOwn) {
  Context context;
  const auto text = [](const std::string& number, const std::string& size) {
    return ".version 8.0\n.target sm_70\n.address_size 64\n"
           ".global .align 4 .b8 own[" +
           size + "] = {" + number +
           "};\n"
           ".const .align 4 .u32 table = " +
           number +
           ";\n"
           ".func (.param .b32 r) get()\n{\n.reg .b32 %r<4>;\nld.global.u8 %r1, [own];\n"
           "ld.const.u32 %r2, [table];\nadd.u32 %r3, %r1, %r2;\nst.param.b32 [r], %r3;\nret;\n}\n"
           ".entry hidden()\n{\nret;\n}\n"
           ".visible .entry kernel" +
           number +
           "(.param .u64 out)\n{\n.reg .b64 %d<2>;\n.reg .b32 %r<2>;\n"
           ".param .b32 v;\nld.param.u64 %d1, [out];\ncall (v), get;\nld.param.b32 %r1, [v];\n"
           "st.global.u32 [%d1], %r1;\nret;\n}\n";
  };
  CUlinkState link = nullptr;
  ASSERT_EQ(DRIVER(cuLinkCreate)(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  for (const std::string& each : {text("1", "4"), text("2", "4000")}) {
    ASSERT_EQ(DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, const_cast<char*>(each.c_str()),
                                    each.size() + 1, "text", 0, nullptr, nullptr),
              CUDA_SUCCESS);
  }
  void* code = nullptr;
  ASSERT_EQ(DRIVER(cuLinkComplete)(link, &code, nullptr), CUDA_SUCCESS);
  CUmodule module = nullptr;
  ASSERT_EQ(DRIVER(cuModuleLoadData)(&module, code), CUDA_SUCCESS);
  CUdeviceptr out = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&out, 4), CUDA_SUCCESS);
  for (const unsigned number : {1u, 2u}) {
    CUfunction kernel = nullptr;
    const std::string name = "kernel" + std::to_string(number);
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&kernel, module, name.c_str()), CUDA_SUCCESS);
    void* arguments[] = {&out};
    ASSERT_EQ(DRIVER(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_SUCCESS);
    unsigned got = 0;
    ASSERT_EQ(DRIVER(cuMemcpyDtoH)(&got, out, sizeof got), CUDA_SUCCESS);
    EXPECT_EQ(got, 2 * number);
  }
  CUdeviceptr own = 0;
  EXPECT_EQ(DRIVER(cuModuleGetGlobal)(&own, nullptr, module, "own"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(DRIVER(cuMemFree)(out), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuModuleUnload)(module), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuLinkDestroy)(link), CUDA_SUCCESS);
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
