// SPDX-License-Identifier: Apache-2.0
// Options for kernels on the simulated device. They reach it by variables of the environment,
// which simulated_cuda/README.md lists.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gmt {

struct DeviceOption {
  std::string name, value, sentence; // as the help shows them
};
const std::vector<DeviceOption>& device_options();

// The variables for those that were given. `last` answers the last value of an option. Throws
// UserError for a wrong one.
std::vector<std::pair<std::string, std::string>>
device_settings(const std::function<std::optional<std::string>(const std::string&)>& last);

// The same for variables that the user has set, in the forms that options take, but for those that
// are `given`.
std::vector<std::pair<std::string, std::string>>
device_variables(const std::vector<std::pair<std::string, std::string>>& given);

} // namespace gmt
