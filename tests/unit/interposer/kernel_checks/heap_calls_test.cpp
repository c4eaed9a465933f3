// SPDX-License-Identifier: Apache-2.0
// What becomes of a text that calls malloc and free.
#include "interposer/kernel_checks/library/heap_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ptx/syntax/ptx.h"

namespace gmt::interposer::kernel_checks {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_90a\n.address_size 64\n";

std::string text_with(const std::string& directives, const std::string& behind = "") {
  return std::string(kHead) +
         ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
         ".visible .entry k()\n" +
         directives +
         "{\n.reg .b64 %d<3>;\n.param .b64 a;\n.param .b64 r;\n.loc 1 7 0\n"
         "mov.u64 %d1, 16;\nst.param.b64 [a], %d1;\ncall (r), malloc, (a);\n"
         "ld.param.b64 %d2, [r];\n.loc 1 8 0\nst.param.b64 [a], %d2;\ncall free, (a);\nret;\n}\n"
         ".visible .entry other() { ret; }\n.file 1 \"a.cu\"\n" +
         behind;
}

std::string logged(std::string text, HeapUse wanted) {
  HeapUse use = HeapUse::kNone;
  std::string made = with_logged_heap(std::move(text), use);
  EXPECT_EQ(use, wanted);
  return made;
}

std::string called(const ptx::Module& module, const char* kernel, int which) {
  const ptx::Body body = ptx::parse_body(module, *module.find_function(kernel));
  for (const ptx::Instruction& instruction : body.instructions) {
    if (body.mnemonic(instruction).opcode == "call" && which-- == 0)
      return std::string(module.functions()[ptx::call_of(body, instruction).target->id].name);
  }
  return {};
}

TEST(KernelCheckHeapCalls, EachLineHasFunctionsThatLog) {
  const ptx::Module module = ptx::parse_module(logged(text_with(""), HeapUse::kMarked));
  EXPECT_EQ(module.version(), 80u);
  EXPECT_EQ(module.target_name(), "sm_90a");
  EXPECT_EQ(called(module, "k", 0), "gpumemtrace_logged_malloc0");
  EXPECT_EQ(called(module, "k", 1), "gpumemtrace_logged_free1");
  EXPECT_EQ(called(module, "gpumemtrace_logged_malloc0", 0), "gpumemtrace_logged_malloc_at");
  const ptx::Variable* file = module.find_variable("gpumemtrace_logged_text0");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::string(file->initial.begin(), file->initial.end() - 1), "a.cu");
  // Only they call the driver's own.
  EXPECT_EQ(called(module, "gpumemtrace_logged_malloc_at", 0), "malloc");
}

// 1,024 threads with 64 registers each may be launched.
TEST(KernelCheckHeapCalls, KernelsThatLogHaveNotTooManyRegisters) {
  const ptx::Module module = ptx::parse_module(logged(text_with(""), HeapUse::kMarked));
  EXPECT_EQ(module.find_function("k")->max_registers, 64u);
  EXPECT_EQ(module.find_function("other")->max_registers, 0u);
  const ptx::Module limited =
    ptx::parse_module(logged(text_with(".maxntid 256, 1, 1\n"), HeapUse::kMarked));
  EXPECT_EQ(limited.find_function("k")->max_registers, 0u);
}

TEST(KernelCheckHeapCalls, WhatStaysAsItIs) {
  const std::string none = std::string(kHead) + ".visible .entry k() { ret; }\n";
  EXPECT_EQ(logged(none, HeapUse::kNone), none);
  const std::string logs =
    text_with("", ".weak .global .align 8 .u64 _ZN3gmt6device7controlILi1EEE;\n");
  EXPECT_EQ(logged(logs, HeapUse::kUnmarked), logs);
  const std::string debug = text_with("", ".section .debug_info {\n.b8 1\n}\n");
  EXPECT_EQ(logged(debug, HeapUse::kUnmarked), debug);
}

// Blocks of aligned malloc are not marked.
TEST(KernelCheckHeapCalls, AlignedMallocMarksNothing) {
  const std::string text =
    std::string(kHead) + ".extern .func (.param .b64 r) __cuda_syscall_aligned_malloc(.param .b64 "
                         "a, .param .b64 b);\n.visible .entry k() { ret; }\n";
  EXPECT_EQ(logged(text, HeapUse::kUnmarked), text);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
