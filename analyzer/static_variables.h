// SPDX-License-Identifier: Apache-2.0
// Which variable of an executable or library is at an address, and whether it is what the host has in place of
// a variable of the device. Made by the report builder for each trace; reads a file at the first question
// about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/detector.h"
#include "analyzer/modules.h"

namespace gmt {

class StaticVariables {
public:
  StaticVariable find(const Module& module, std::uint64_t address);

private:
  std::map<std::pair<std::string, std::uint64_t>, StaticVariable> known_; // by file and address in it
};

} // namespace gmt
