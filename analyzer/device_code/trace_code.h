// SPDX-License-Identifier: Apache-2.0
// The code of one trace's measured functions: from its `code` file, else searched for in its images
// and in the files that it had loaded. Reads all of them at the first question, and keeps the code
// in the trace if wanted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/device_code/code_cache.h"
#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class TraceCode {
public:
  // The trace must outlive this.
  TraceCode(const TraceDir& trace, bool write) : trace_(trace), write_(write) {}
  TraceCode(TraceDir&&, bool) = delete;

  // The function of that name in which every offset is an access of memory, on devices of these
  // architectures (90 for compute capability 9.0). nullptr if there is none. What it points to
  // lives as long as this.
  const FunctionCode* find(std::string_view name, std::span<const std::uint32_t> offsets,
                           std::span<const unsigned> architectures);

  const std::vector<std::string>& remarks() const { return remarks_; }
  const std::vector<NotChecked>& not_checked() const { return not_checked_; }

private:
  void read_or_search(std::span<const unsigned> architectures);
  void search(std::span<const unsigned> architectures);

  const TraceDir& trace_;
  bool write_, asked_ = false;
  CodeFile file_;
  std::vector<std::string> remarks_;
  std::vector<NotChecked> not_checked_;
};

} // namespace gmt
