// SPDX-License-Identifier: Apache-2.0
// Links a kernel from three texts of PTX by cuLink*: one has the kernel, one a function that it
// calls, one, which is added as a file, a variable that both use. Words: "whole";
// "without-function" leaves out the second one. Prints what the kernel computed. The first argument
// behind the word is a folder for the file.
#include "driver_answers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

const char* const kKernel = R"(.version 8.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) twice(.param .b32 value);
.extern .global .align 4 .b32 offset;
.visible .entry scale(.param .u64 values)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [values];
  cvta.to.global.u64 %d2, %d1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d2, %d2, %d3;
  ld.global.u32 %r2, [%d2];
  .param .b32 a;
  .param .b32 b;
  st.param.b32 [a], %r2;
  call (b), twice, (a);
  ld.param.b32 %r3, [b];
  ld.global.u32 %r4, [offset];
  add.s32 %r3, %r3, %r4;
  st.global.u32 [%d2], %r3;
  ret;
})";

const char* const kFunction = R"(.version 8.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [value];
  add.s32 %r1, %r1, %r1;
  st.param.b32 [result], %r1;
  ret;
})";

const char* const kVariable = R"(.version 8.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 offset = 100;
)";

#define EXPECT(code, call) expect(code, static_cast<int>(call), #call, __LINE__)
void expect(int wanted, int got, const char* call, int line) {
  if (wanted == got) return;
  std::printf("linked.cu:%d: %s answered %d, not %d\n", line, call, got, wanted);
  std::exit(3);
}

std::string write_variable(const char* folder) {
  const std::string path = std::string(folder) + "/variable.ptx";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(kVariable, file);
  std::fclose(file);
  return path;
}

void add(CUlinkState link, const char* text, const char* name) {
  EXPECT(0, DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, const_cast<char*>(text),
                                  std::strlen(text) + 1, name, 0, nullptr, nullptr));
}

void run(const void* code) {
  CUmodule module = nullptr;
  CUfunction scale = nullptr;
  EXPECT(0, DRIVER(cuModuleLoadData)(&module, code));
  EXPECT(0, DRIVER(cuModuleGetFunction)(&scale, module, "scale"));
  int values[4] = {1, 2, 3, 4};
  DeviceBlock block(sizeof values);
  EXPECT(0, cudaMemcpy(block.at(), values, sizeof values, cudaMemcpyHostToDevice));
  void* parameters[] = {&block.pointer};
  EXPECT(0, DRIVER(cuLaunchKernel)(scale, 1, 1, 1, 4, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT(0, cudaMemcpy(values, block.at(), sizeof values, cudaMemcpyDeviceToHost));
  std::printf("%d %d %d %d\n", values[0], values[1], values[2], values[3]);
  EXPECT(0, DRIVER(cuModuleUnload)(module));
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool whole = std::strcmp(argv[1], "whole") == 0;
  EXPECT(0, cudaFree(nullptr));
  char errors[200] = "not written";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
  CUlinkState link = nullptr;
  EXPECT(0, DRIVER(cuLinkCreate)(2, options, values, &link));
  add(link, kKernel, "kernel");
  if (whole) add(link, kFunction, "function");
  EXPECT(0, DRIVER(cuLinkAddFile)(link, CU_JIT_INPUT_PTX, write_variable(argv[2]).c_str(), 0,
                                  nullptr, nullptr));
  EXPECT(CUDA_ERROR_FILE_NOT_FOUND,
         DRIVER(cuLinkAddFile)(link, CU_JIT_INPUT_PTX, "/no/such/file", 0, nullptr, nullptr));
  void* code = nullptr;
  size_t bytes = 0;
  EXPECT(0, DRIVER(cuLinkComplete)(link, &code, &bytes));
  EXPECT(0, std::strlen(errors));
  EXPECT(0, reinterpret_cast<size_t>(values[1]));
  run(code);
  EXPECT(0, DRIVER(cuLinkDestroy)(link));

  // A library of machine code is no reason to stop.
  char archive[] = "!<arch>\n";
  EXPECT(0, DRIVER(cuLinkCreate)(0, nullptr, nullptr, &link));
  EXPECT(0, DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_LIBRARY, archive, sizeof archive, "library", 0,
                                  nullptr, nullptr));
  EXPECT(CUDA_ERROR_NO_BINARY_FOR_GPU,
         DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_CUBIN, const_cast<char*>(kFunction), 99,
                               "no cubin", 0, nullptr, nullptr));
  EXPECT(0, DRIVER(cuLinkDestroy)(link));

  char wrong[] = "this is no PTX";
  EXPECT(0, DRIVER(cuLinkCreate)(0, nullptr, nullptr, &link));
  EXPECT(CUDA_ERROR_INVALID_PTX, DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, wrong, sizeof wrong,
                                                       "wrong", 0, nullptr, nullptr));
  EXPECT(0, DRIVER(cuLinkDestroy)(link));
  return 0;
}
