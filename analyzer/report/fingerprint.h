// SPDX-License-Identifier: Apache-2.0
// What makes a finding the same one in another run: its kind, the CUDA call, and the functions of
// up to three of the user's frames. Addresses, process ids, paths, lines, parameters and template
// arguments are no part of it (docs/fingerprints.md). A changed rule is a new version, since users
// keep fingerprints in files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/reported_finding.h"

namespace gmt {

inline constexpr std::string_view kFingerprintVersion = "1";

// Not of CUDA's, of a known library, of the C and C++ libraries or of a Python package.
bool is_users_frame(const Frame& frame);

// The library whose file a frame lies in, "cuBLAS"; empty if it is none that is known by its file.
std::string_view known_library(const Frame& frame);

// "void ns::step<int>::run<2>(int*) const" -> "ns::step::run".
std::string function_identity(std::string_view function);

// Innermost first: of the first stack that has frames of the user's, else of any frames.
std::vector<std::string> identity_of(const ReportedFinding& finding);

// The same of one stack; empty if it has no frames.
std::vector<std::string> identity_of(const CallStack& stack);

std::string fingerprint_of(const ReportedFinding& finding); // "1-0123456789abcdef"

// Sets the fingerprints of all. Of equal ones the second ends in "-2", and so on.
void set_fingerprints(std::vector<ReportedFinding>& findings);

} // namespace gmt
