// SPDX-License-Identifier: Apache-2.0
// Finds the code of measured functions: in what the program gave the driver from memory (the
// trace's images) and in the fat binaries of the files that it had loaded. Asked once for a trace,
// at the end.
//
// A name alone does not say which code ran: it must be for the device's architecture, as the driver
// chooses, and every measured offset must be an instruction that accesses memory. Where several
// fit, those with lines are preferred, and what they do not agree on is left out: better no line
// than a wrong one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/device_code/cubin.h"
#include "analyzer/device_code/fatbin.h"
#include "analyzer/device_code/instruction.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

struct WantedFunction {
  std::string name;                   // as linked
  std::vector<std::uint32_t> offsets; // that were measured
};

class KernelCodeSearch {
public:
  // Architectures of the devices (90 for compute capability 9.0).
  KernelCodeSearch(std::span<const WantedFunction> wanted, std::span<const unsigned> architectures,
                   Deadline deadline);

  // A cubin, a fat binary or PTX, which has no code
  void look_in_image(const std::filesystem::path& path);
  void look_in_module(const Module& module); // unless it is another build by now

  bool timed_out() const;
  // By number of `wanted`; without instructions where none was found.
  std::vector<FunctionCode> take() { return std::move(found_); }

private:
  void look_in_fatbin(const CodeSections& sections, const std::string& path);
  void look_in_container(std::span<const FatbinEntry> entries, const std::string& path);
  void look_in_cubin(std::span<const char> image, const std::string& path);
  static bool fits(const FunctionCode& code, const WantedFunction& wanted);
  static void merge(FunctionCode& known, FunctionCode other);

  std::span<const WantedFunction> wanted_;
  std::multimap<std::string_view, std::size_t> by_name_;
  std::vector<unsigned> architectures_;
  Deadline deadline_;
  std::vector<FunctionCode> found_;
  std::vector<char> buffer_;
};

} // namespace gmt
