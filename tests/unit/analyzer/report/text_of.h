// SPDX-License-Identifier: Apache-2.0
// The text report as a string, and what tests ask of it.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "analyzer/report/output_format.h"

namespace gmt::test {

inline std::string written(std::string_view format, const Report& report,
                           const OutputOptions& options = {}) {
  for (const OutputInfo* output : outputs()) {
    if (output->id != format) continue;
    std::ostringstream out;
    output->write(report, options, out);
    return out.str();
  }
  return "no such output is registered";
}

inline std::string text_of(Report report, const OutputOptions& options = {}) {
  report.conclusion = conclude(report, {});
  return written("text", report, options);
}

inline std::string last_line(const std::string& text) {
  const std::size_t before = text.rfind('\n', text.size() - 2);
  return text.substr(before + 1, text.size() - before - 2);
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing:\n" << part << "\nin:\n" << text;
}

} // namespace gmt::test
