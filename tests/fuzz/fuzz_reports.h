// SPDX-License-Identifier: Apache-2.0
// One fuzz input is a file that a report is compared with, or that leaves findings out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gmt::test {

// Read as a baseline and compared with a report. False if it is none.
bool compare_with_baseline(const std::string& text);
// Read as a JSON report and compared, both ways. False if it is none.
bool compare_reports(const std::string& text);
// Read as suppressions, whose rules meet every finding of a report. False if a line is no rule.
bool suppress_findings(const std::string& text);

// The first two.
void read_baseline_input(const std::uint8_t* data, std::size_t size);
void read_suppressions_input(const std::uint8_t* data, std::size_t size);

// Sound files, to mutate from.
std::string baseline_seed();
std::string report_seed();

} // namespace gmt::test
