// SPDX-License-Identifier: Apache-2.0
// Each value is checked here: the device would only complain and go on.

#include "analyzer/command/options/device_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/options/wrong_value.h"

namespace gmt {

namespace {

// "10", "10s", "500ms", "2m", "1.5h": seconds as plain text.
std::string seconds(const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, text.data() + text.size());
  double factor = 0;
  for (const auto& [word, size] : {std::pair{"", 1.0}, std::pair{"s", 1.0}, std::pair{"ms", 1e-3},
                                   std::pair{"m", 60.0}, std::pair{"h", 3600.0}})
    if (unit == word) factor = size;
  constexpr double kMost = 1e9;
  if (error != std::errc() || factor == 0 || !(value >= 0 && value * factor <= kMost))
    wrong_value(name, text, "a time such as 10s, 500ms, 2m or 0 for no limit");
  return std::to_string(value * factor);
}

std::string count(const std::string& name, const std::string& text, std::uint64_t least,
                  std::uint64_t most) {
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  if (!value || *value < least || *value > most)
    wrong_value(name, text,
                "a number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::to_string(*value);
}

std::string device_launches(const std::string& name, const std::string& text) {
  constexpr std::uint64_t kMost = 1000000000;
  return text == "all" ? "0" : count(name, text, 1, kMost);
}

std::string threads(const std::string& name, const std::string& text) {
  constexpr std::uint64_t kMost = 1024;
  return count(name, text, 1, kMost);
}

std::string seed(const std::string& name, const std::string& text) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  return count(name, text, 0, kMost);
}

std::string orders(const std::string& name, const std::string& text) {
  constexpr std::uint64_t kMost = 1000;
  return count(name, text, 1, kMost);
}

std::string checks(const std::string& name, const std::string& text) {
  if (text != "none" && text != "default" && text != "full")
    wrong_value(name, text, "none, default or full");
  return text;
}

std::string after_fault(const std::string& name, const std::string& text) {
  if (text != "stop" && text != "continue") wrong_value(name, text, "stop or continue");
  return text;
}

struct Known {
  DeviceOption option;
  const char* variable;
  std::string (*read)(const std::string& name, const std::string& text);
};

const std::vector<Known>& known_options() {
  static const std::vector<Known> all = {
    {{"kernel-time", "TIME",
      "--device simulated: stop a kernel that runs longer than this; 0: never (default 60s)"},
     "GPUMEMTRACE_SIM_KERNEL_TIME",
     seconds},
    {{"run-time", "TIME",
      "--device simulated: end the program, with status 24, when its kernels have run for so long; 0: "
      "never (default 0)"},
     "GPUMEMTRACE_SIM_RUN_TIME",
     seconds},
    {{"kernel-launches", "N",
      "--device simulated: run the first N launches of each kernel, then those whose number is a "
      "power of two (default all)"},
     "GPUMEMTRACE_SIM_KERNEL_LAUNCHES",
     device_launches},
    {{"device-checks", "WHAT",
      "--device simulated: what is checked in kernels: none (bounds alone), default, or full (also "
      "local arrays and registers that nothing wrote, slower)"},
     "GPUMEMTRACE_SIM_DEVICE_CHECKS",
     checks},
    {{"after-fault", "WHAT",
      "--device simulated: what becomes of the program when a kernel was ended by a fault, or at "
      "--kernel-time: stop (its calls answer the error, as on a GPU; the default) or continue (they "
      "go on, so that one run shows the mistakes of several kernels)"},
     "GPUMEMTRACE_SIM_AFTER_FAULT",
     after_fault},
    {{"device-threads", "N",
      "--device simulated: threads that run a kernel's blocks; with 1 each run is the same (default: "
      "one a processor)"},
     "GPUMEMTRACE_SIM_DEVICE_THREADS",
     threads},
    {{"device-seed", "N",
      "--device simulated: another order in which blocks and warps have their turns; with "
      "--device-threads 1 it is the same in each run (default 0: as they are numbered)"},
     "GPUMEMTRACE_SIM_DEVICE_SEED",
     seed},
    {{"races-schedules", "N",
      "--device simulated: run each launch in N orders, from the same memory, until one shows a race "
      "or another result (default 1)"},
     "GPUMEMTRACE_SIM_RACES_SCHEDULES",
     orders},
    {{"late", "TIME",
      "--device simulated: run asynchronous work as late as its order allows, at most TIME behind its "
      "call, so that a forgotten wait shows; such as 20ms (default 0: at once)"},
     "GPUMEMTRACE_SIM_LATE",
     seconds},
  };
  return all;
}

} // namespace

const std::vector<DeviceOption>& device_options() {
  static const std::vector<DeviceOption> all = [] {
    std::vector<DeviceOption> options;
    for (const Known& known : known_options()) options.push_back(known.option);
    return options;
  }();
  return all;
}

std::vector<std::pair<std::string, std::string>>
device_settings(const std::function<std::optional<std::string>(const std::string&)>& last) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Known& known : known_options()) {
    if (const auto text = last(known.option.name))
      settings.emplace_back(known.variable, known.read(known.option.name, *text));
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>>
device_variables(const std::vector<std::pair<std::string, std::string>>& given) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Known& known : known_options()) {
    const char* set = std::getenv(known.variable);
    const auto is_given = [&known](const auto& one) { return one.first == known.variable; };
    if (set == nullptr || *set == '\0' || std::ranges::any_of(given, is_given)) continue;
    // Plain numbers are the device's own form: 0 launches are all. Of what is no value it says so.
    if (parse_number<std::uint64_t>(set)) continue;
    try {
      settings.emplace_back(known.variable, known.read(known.variable, set));
    } catch (const UserError&) {
      continue;
    }
  }
  return settings;
}

} // namespace gmt
