// SPDX-License-Identifier: Apache-2.0
// When code is unloaded, what is known of kernels and modules is void: the driver gives handles out
// again.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer {

// generation << 24 | calls in progress that unload code. What is learned of a handle holds in a
// generation in which no such call began.
inline constexpr unsigned kGenerationShift = 24;
inline constexpr std::uint64_t kNextGeneration = std::uint64_t{1} << kGenerationShift;
extern std::atomic<std::uint64_t> code_state;

// Changes whenever code may have been unloaded; 0 while it is being unloaded.
std::uint64_t code_generation() noexcept;

// Around every call that unloads code: from its beginning on nothing that is known of handles is
// trusted, and what is learned while it runs is not kept.
class UnloadingCode {
public:
  UnloadingCode() noexcept;
  ~UnloadingCode();
  UnloadingCode(const UnloadingCode&) = delete;
  UnloadingCode& operator=(const UnloadingCode&) = delete;
};

void forget_code() noexcept; // a forked child: no call is in progress

} // namespace gmt::interposer
