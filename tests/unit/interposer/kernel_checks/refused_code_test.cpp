// SPDX-License-Identifier: Apache-2.0
// A text that the driver cannot compile: the next start knows it at once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/code_cache.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "made_up_driver.h"
#include "made_up_linker.h"

namespace gmt::interposer::kernel_checks {
namespace {

constexpr char kText[] = ".version 8.3\n.target sm_70\n.address_size 64\n"
                         ".visible .entry k(.param .u64 p)\n{ .reg .b32 %r; .reg .b64 %d; "
                         "ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; ret; }\n";

class KernelCheckRefusedCode : public testing::Test {
protected:
  void SetUp() override {
    begin_made_up_driver();
    replace_code();
    char name[] = "/tmp/gpumemtrace-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    code_cache().begin(folder_ + "/code", 1 << 20);
    linking = {};
    linking.machine.clear();
    linking.log = "nvlink error   : Entry function 'k' uses too much shared data";
  }
  void TearDown() override {
    code_cache().begin("", 0);
    std::filesystem::remove_all(folder_);
  }
  // How often the driver was asked to compile it.
  std::size_t tries_of_a_load() {
    linking.tried.clear();
    CUmodule module = nullptr;
    EXPECT_EQ(call_replaced("cuModuleLoadData", &module, static_cast<const void*>(kText)), 0);
    EXPECT_EQ(module, module_of_all); // the plain one
    return linking.tried.size();
  }

private:
  std::string folder_;
};

TEST_F(KernelCheckRefusedCode, IsNotCompiledAgain) {
  EXPECT_EQ(tries_of_a_load(), 1u);
  EXPECT_EQ(tries_of_a_load(), 0u);
  const std::unique_ptr<Module> module = rewrite_image(kText, true);
  EXPECT_EQ(module->why_plain,
            "the driver could not compile its checked form (" + linking.log + ")");
  EXPECT_TRUE(module->code.kernels.empty());
}

TEST_F(KernelCheckRefusedCode, IsCompiledAgainIfMemoryWasShort) {
  linking.refusal = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(tries_of_a_load(), 1u);
  EXPECT_EQ(tries_of_a_load(), 1u);
  linking.refusal = CUDA_ERROR_INVALID_PTX;
  EXPECT_EQ(tries_of_a_load(), 1u);
  EXPECT_EQ(tries_of_a_load(), 0u);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
