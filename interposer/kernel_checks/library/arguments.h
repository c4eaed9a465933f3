// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch as its checked form takes them: the program's, and the number of the
// launch behind them. The program's own arrays stay as they are. Where the host has no memory for
// more than a few, there are none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rewriter/rewriter.h"

namespace gmt::interposer::kernel_checks {

class NumberedArguments {
public:
  // As cuLaunchKernel takes them. They are what parameters() and extra() give, where the kernel
  // takes no number or there are none.
  NumberedArguments(const rewriter::LaunchParameter& where, std::uint64_t number, void** parameters,
                    void** extra) noexcept;
  NumberedArguments(const NumberedArguments&) = delete;
  NumberedArguments& operator=(const NumberedArguments&) = delete;

  bool are_there() const noexcept { return are_there_; }
  void** parameters() const noexcept { return parameters_; }
  void** extra() const noexcept { return extra_; }

private:
  void add_to_list(std::uint32_t index) noexcept;
  void add_to_buffer(std::uint32_t offset) noexcept;

  std::uint64_t number_;
  void** parameters_;
  void** extra_;
  std::array<void*, 33> few_{};
  std::unique_ptr<void*[]> many_;       // NOLINT: as the driver takes them
  std::unique_ptr<std::byte[]> buffer_; // NOLINT
  bool are_there_ = true;
  std::size_t buffer_bytes_ = 0;
  std::array<void*, 5> new_extra_{};
};

} // namespace gmt::interposer::kernel_checks
