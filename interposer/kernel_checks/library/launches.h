// SPDX-License-Identifier: Apache-2.0
// The last launches of checked forms, by the number that each gave its kernel and that records
// have. Written at each launch and read while others are made: no lock, no allocation. Nodes of
// graphs have numbers of their own, as they run again and again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer::kernel_checks {

struct Module;

struct Launch {
  std::uint64_t number = 0; // from 1
  std::uint64_t call = 0;   // its order in the trace
  std::uint64_t function = 0, stream = 0;
  unsigned table = 0; // of its context
  const Module* module = nullptr;
  const char* kernel = nullptr; // lives as long as the process
  std::uint32_t grid[3] = {}, block[3] = {};
};

constexpr std::uint64_t kOfNode = std::uint64_t{1} << 63; // in numbers of nodes
inline bool is_of_node(const Launch& launch) noexcept { return (launch.number & kOfNode) != 0; }

// Before the driver gets it: its number, which is set here.
std::uint64_t remember_launch(Launch launch) noexcept;
void forget_launch(std::uint64_t number) noexcept; // the driver refused it
// False: it is too old, was refused, or is being written.
bool find_launch(std::uint64_t number, Launch* to) noexcept;
std::uint64_t newest_launch() noexcept;        // its number
constexpr std::uint64_t kMostLaunches = 65536; // that are remembered

// How many the driver took; counts this one.
std::uint64_t count_launch() noexcept;
std::uint64_t launch_count() noexcept;

// Launches that the driver gets, counted before it does, by table: remember_launch() counts its
// own, graphs' are counted here.
void begin_launch(unsigned table = 0) noexcept;
std::uint64_t begun_launches(unsigned table = 0) noexcept;
// A call of the program's that launches lasts. What it counted the driver may not have yet.
class LaunchCall {
public:
  LaunchCall() noexcept;
  ~LaunchCall();
  LaunchCall(const LaunchCall&) = delete;
  LaunchCall& operator=(const LaunchCall&) = delete;
};
// Those that a wait which begins now is for, at least: all that were counted, or none while another
// thread's call lasts.
std::uint64_t given_launches(unsigned table = 0) noexcept;
// So many first ones have ended; whether others may run now, and whether of any table.
void end_launches(std::uint64_t begun, unsigned table = 0) noexcept;
bool may_run(unsigned table) noexcept;
bool may_any_run() noexcept;

// As remember_launch, for what a graph launches. `call` is then the one that made the node,
// captured it, or changed what it runs. 0: there are too many.
std::uint64_t remember_node(Launch launch) noexcept;
bool renew_node(std::uint64_t number, Launch launch) noexcept; // false: it is not remembered
constexpr std::size_t kMostNodes = std::size_t{1} << 18;

void forget_launches() noexcept;  // of contexts that have ended; numbers go on
void abandon_launches() noexcept; // in a forked child

} // namespace gmt::interposer::kernel_checks
