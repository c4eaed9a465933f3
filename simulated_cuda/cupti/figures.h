// SPDX-License-Identifier: Apache-2.0
// The file of figures behind the simulated CUPTI: what each instruction of a kernel does in one
// launch. A line that makes no sense is named on stderr and ignored. Records are made for all
// metrics of an instruction at once.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <set>
#include <string>

struct CUpti_SassMetrics_Data;

namespace gmt::sim {

class Figures {
public:
  void add_line(const std::string& line);
  std::uint64_t metric(const std::string& name) const; // its id, 0 if it is none
  // Of a whole launch.
  std::uint64_t counter(const std::string& kernel, const std::string& name) const;
  std::size_t instructions_of(const std::string& name) const;
  // Records of `launches` launches into data[*next...], as far as there is room.
  void fill(const std::string& name, std::uint64_t launches, const std::set<std::uint64_t>& metrics,
            CUpti_SassMetrics_Data* data, std::size_t room, std::size_t* next) const;

private:
  struct Kernel {
    std::uint32_t cubin = 0, index = 0;
    // By offset: figures by metric.
    std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> instructions;
  };
  void add_counters(const std::string& kernel, std::istream& words);
  const Kernel& kernel(const std::string& name) const;

  std::map<std::string, Kernel> kernels_;
  std::map<std::string, std::map<std::string, std::uint64_t>> counters_; // by kernel
};

Figures read_figures();

} // namespace gmt::sim
