// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/live/device_totals.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "analyzer/base/text_lines.h"

namespace gmt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRest{5}, kLongestWait{3};
constexpr const char* kQuestion =
  "nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader,nounits "
  "</dev/null 2>/dev/null";

std::vector<std::string_view> parts_of(std::string_view line) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = line.find(',');
    std::string_view part = line.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (comma == line.npos) return parts;
    line.remove_prefix(comma + 1);
  }
}

std::string ask() {
  std::string text;
  FILE* pipe = ::popen(kQuestion, "re");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  constexpr std::size_t kMost = 1 << 16;
  for (std::size_t n;
       text.size() < kMost && (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    text.append(buffer.data(), n);
  ::pclose(pipe);
  return text;
}

} // namespace

struct DeviceTotals::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, DeviceTotal> totals;
  bool is_asking = false, has_answer = false;
  Clock::time_point asked;
};

std::map<int, DeviceTotal> parse_device_totals(std::string_view text) {
  std::map<int, DeviceTotal> totals;
  for_each_line(text, [&totals](std::string_view line) {
    const std::vector<std::string_view> parts = parts_of(line);
    if (parts.size() != 3) return;
    const auto gpu = parse_number<int>(parts[0]);
    const auto used = parse_number<std::uint32_t>(parts[1]);
    const auto total = parse_number<std::uint32_t>(parts[2]);
    if (gpu && used && total)
      totals[*gpu] = {std::uint64_t{*used} << 20, std::uint64_t{*total} << 20};
  });
  return totals;
}

std::optional<int> gpu_of(int ordinal, const std::string& visible, const std::string& order,
                          std::size_t gpus) {
  if (ordinal < 0) return std::nullopt;
  // The fastest GPU comes first by default, and only the process knows which that is.
  if (gpus != 1 && order != "PCI_BUS_ID") return std::nullopt;
  if (visible.empty()) return ordinal;
  const std::vector<std::string_view> listed = parts_of(visible);
  if (static_cast<std::size_t>(ordinal) >= listed.size()) return std::nullopt;
  return parse_number<int>(listed[static_cast<std::size_t>(ordinal)]); // a UUID is no number
}

DeviceTotals::DeviceTotals() : state_(std::make_shared<State>()) {}
DeviceTotals::~DeviceTotals() = default; // a thread that still asks keeps the state

std::map<int, DeviceTotal> DeviceTotals::now(bool waits) {
  std::unique_lock lock(state_->mutex);
  const bool is_old = !state_->has_answer || Clock::now() - state_->asked > kRest;
  if (is_old && !state_->is_asking) {
    state_->is_asking = true;
    state_->asked = Clock::now();
    std::thread([state = state_] {
      std::map<int, DeviceTotal> totals = parse_device_totals(ask());
      const std::lock_guard guard(state->mutex);
      state->totals = std::move(totals);
      state->is_asking = false;
      state->has_answer = true;
      state->changed.notify_all();
    }).detach();
  }
  if (waits) state_->changed.wait_for(lock, kLongestWait, [this] { return state_->has_answer; });
  return state_->totals;
}

} // namespace gmt
