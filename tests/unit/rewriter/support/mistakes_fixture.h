// SPDX-License-Identifier: Apache-2.0
// A kernel that is rewritten and run, and what it counted and recorded of its mistakes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rewriter/support/checked_world.h"

namespace gmt::rewriter {

inline constexpr const char* kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

// The parameter is Options::most_inline: exact checks by calls find what those of the code do.
class Mistakes : public testing::TestWithParam<std::uint32_t> {
protected:
  // A kernel k of pointers p and q, with p in %d1, q in %d2, the thread in %r1.
  void rewrite_kernel(const std::string& statements, Bounds bounds = Bounds::kNever,
                      std::uint64_t window = test::kWindow) {
    world_ = std::make_unique<test::World>(bounds);
    world_->options.window = window;
    world_->options.most_inline = GetParam();
    world_->options.most_copied = most_copied_;
    world_->options.lowest_address = lowest_;
    world_->options.checks_written = checks_written_;
    rewritten_ = rewrite(
      std::string(kHead) + functions_ +
        ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n.reg .pred %p<9>; .reg .b32 %r<9>; "
        ".reg .b64 %d<20>; .reg .f32 %f<9>;\nld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n"
        "mov.u32 %r1, %tid.x;\n" +
        statements + "\nret;\n}\n",
      world_->options);
    ASSERT_EQ(rewritten_.kernels, std::vector<std::string>{"k"});
  }

  void run(std::uint64_t p, std::uint64_t q, std::uint32_t threads = 1) {
    std::string error;
    const std::string_view texts[] = {rewritten_.text};
    module_ = executor::Module::load(texts, &error);
    ASSERT_NE(module_, nullptr) << error;
    world_->add_variables(*module_);
    ASSERT_EQ(rewritten_.launch_parameters.size(), 1u);
    EXPECT_TRUE(rewritten_.launch_parameters[0].is_there);
    EXPECT_EQ(rewritten_.launch_parameters[0].index, 2u);
    EXPECT_EQ(rewritten_.launch_parameters[0].offset, 16u);
    const std::uint64_t parameters[] = {p, q, 77};
    executor::Launch launch;
    launch.module = module_.get();
    launch.kernel = module_->find_kernel("__gmt_checked_k");
    ASSERT_NE(launch.kernel, nullptr);
    launch.grid = {1};
    launch.block = {threads};
    launch.dynamic_shared_bytes = dynamic_bytes_;
    launch.parameters = std::as_bytes(std::span(parameters));
    launch.memory = &world_->memory;
    test::Listener listener;
    EXPECT_EQ(executor::run(launch, listener).end, ends_);
    faults_ = 0;
    for (const executor::Report& report : listener.reports) {
      if (report.kind <= executor::ReportKind::kMisaligned) ++faults_;
    }
  }
  std::uint64_t count(std::size_t site, CountKind kind = kOutOfBoundsCount) {
    return world_->count(site, kind);
  }
  std::uint32_t word(std::uint64_t address) {
    std::uint32_t value = 0;
    std::memcpy(&value, world_->at(address), 4);
    return value;
  }
  void set_word(std::uint64_t address, std::uint32_t value) {
    std::memcpy(world_->at(address), &value, 4);
  }

  std::unique_ptr<test::World> world_;
  std::string functions_; // before the kernel
  bool checks_written_ = false;
  std::uint32_t most_copied_ = 1000;
  std::uint32_t dynamic_bytes_ = 0;
  std::uint64_t lowest_ = test::kWindow;
  Rewritten rewritten_;
  std::unique_ptr<executor::Module> module_;
  executor::End ends_ = executor::End::kDone;
  std::size_t faults_ = 0; // accesses that the executor refused
};

inline auto exact_checks() { return testing::Values(0u, 1000u); }

} // namespace gmt::rewriter
