// SPDX-License-Identifier: Apache-2.0
// What makes a finding the same one in another run: its kind, the CUDA call, the functions of up to
// three of the user's frames, and the text of its source line. Addresses, process ids, paths, line
// numbers, parameters and template arguments are no part of it (docs/fingerprints.md). A changed
// rule is a new version, since users keep fingerprints in files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/reported_finding.h"

namespace gmt {

inline constexpr std::string_view kFingerprintVersion = "2";
// The rule that knows no source lines. It also stands for findings whose lines are not known.
inline constexpr std::string_view kFunctionFingerprintVersion = "1";

// Whether the version is that of rule 2.
bool has_source_line(std::string_view fingerprint);

// Not of CUDA's, of a known library, of the C and C++ libraries or of a Python package.
bool is_users_frame(const Frame& frame);

// The library whose file a frame lies in, "cuBLAS"; empty if it is none that is known by its file.
std::string_view known_library(const Frame& frame);

// "void ns::step<int>::run<2>(int*) const" -> "ns::step::run".
std::string function_identity(std::string_view function);

// The user's frames of the first stack that has some, innermost first, else any stack's frames. In
// a kernel the kernel's own is the last one.
std::vector<Frame> own_frames(const ReportedFinding& finding);
// As rules and people name it: a Python file's own code by its file, what has no symbols by its
// library without its version.
std::string name_of_frame(const Frame& frame);
bool is_constructor(const Frame& frame);

// The frames whose source lines distinguish the finding from others: the innermost of its own, and
// behind a constructor or a function of a header, which many call, the next one, too.
std::vector<Frame> distinguishing_frames(const ReportedFinding& finding);

// The names of own_frames(), three at most.
std::vector<std::string> identity_of(const ReportedFinding& finding);

// The same of one stack; empty if it has no frames.
std::vector<std::string> identity_of(const CallStack& stack);

// "2-0123456789abcdef"; without a source line that of the functions.
std::string fingerprint_of(const ReportedFinding& finding);
std::string function_fingerprint_of(const ReportedFinding& finding); // "1-0123456789abcdef"

// Sets both fingerprints of all. Of equal ones the second ends in "-2", and so on.
void set_fingerprints(std::vector<ReportedFinding>& findings);

} // namespace gmt
