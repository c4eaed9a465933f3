// SPDX-License-Identifier: Apache-2.0
// Fingerprints of findings, see fingerprint.h.
#include "analyzer/report/fingerprint.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "analyzer/analysis/owners.h"
#include "analyzer/base/glob.h"
#include "analyzer/base/path.h"
#include "analyzer/base/starts_with.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {
namespace {

constexpr std::size_t kMostFrames = 3;

bool is_of_system(std::string_view module) {
  return starts_with_any(module, {"libc.so", "libc-2.", "libstdc++.so", "libc++.so", "libgcc_s.so",
                                  "ld-linux", "libpthread", "libm.so", "libpython"});
}

bool is_of_owner(const Frame& frame) {
  if (!owner_of_module(frame.module).empty()) return true;
  return std::ranges::any_of(owner_rules(), [&frame](const OwnerRule& rule) {
    return glob_match(rule.module, frame.module) && glob_match(rule.function, frame.function);
  });
}

// Python's own modules, and packages that were installed.
bool is_of_python_library(std::string_view file) {
  return file.starts_with("<frozen ") || file.find("/lib/python3") != std::string_view::npos ||
         file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos;
}

// Frameworks whose files hold the user's frames of their own templates, too.
bool is_of_framework(const Frame& frame) {
  const std::string name = function_identity(frame.function);
  const bool is_python = frame.language == "python";
  return starts_with_any(name, {"std::", "__gnu_cxx::", "thrust::", "cub::", "cuda::", "c10::",
                                "at::", "torch::", "__invoke_impl"}) ||
         (is_python && is_of_python_library(frame.file)) ||
         (!is_python && frame.function.starts_with("_Py"));
}

// Lambdas are numbered in the order of the source, and each compiler writes them its own way.
bool skip_lambda(std::string_view name, std::size_t& at) {
  const std::string_view rest = name.substr(at);
  if (rest.starts_with("{lambda(") || rest.starts_with("'lambda")) {
    const char close = rest[0] == '{' ? '}' : '\'';
    const std::size_t end = name.find(close, at + 1);
    if (end == std::string_view::npos) return false;
    at = end;
    return true;
  }
  if (!rest.starts_with("$_")) return false;
  ++at;
  while (at + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[at + 1])) != 0) ++at;
  return true;
}

bool is_operator_end(std::string_view text) { return text.ends_with("operator"); }

std::string without_arguments(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (skip_lambda(name, i)) {
      out += "{lambda}";
    } else if (name[i] == '<' && !is_operator_end(out) && !out.ends_with("operator<")) {
      int depth = 0; // a name that never closes it goes whole
      for (; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>' && --depth == 0) break;
      }
    } else {
      out += name[i];
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// A library without symbols has a name, too; its version changes with each release.
std::string module_identity(const Frame& frame) {
  const std::string_view name = base_name(frame.module);
  const std::size_t version = name.find(".so.");
  return std::string(name.substr(0, version == std::string_view::npos ? version : version + 3));
}

// Angle brackets are no template's in Python. A file's own code has the same name in each file.
std::string python_identity(const Frame& frame) {
  if (frame.function != "<module>") return frame.function;
  return std::string(base_name(frame.file)) + ":<module>";
}

std::string name_of(const Frame& frame) {
  if (frame.language == "python") return python_identity(frame);
  return frame.function.empty() ? module_identity(frame) : function_identity(frame.function);
}

void add_frames(const CallStack& stack, bool users_only, std::vector<std::string>& names) {
  for (const Frame& frame : stack.frames) {
    if (names.size() == kMostFrames) return;
    if (frame.tail_call || (users_only && !is_users_frame(frame))) continue;
    std::string name = name_of(frame);
    if (!name.empty()) names.push_back(std::move(name));
  }
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

} // namespace

std::string_view known_library(const Frame& frame) { return owner_of_module(frame.module); }

bool is_users_frame(const Frame& frame) {
  return !frame.tail_call && !frame.function.empty() && !is_cuda_frame(frame) &&
         !is_of_system(base_name(frame.module)) && !is_of_owner(frame) && !is_of_framework(frame);
}

std::string function_identity(std::string_view function) {
  std::string name = without_arguments(bare_function(function));
  if (const std::size_t abi = name.find("[abi:"); abi != std::string::npos) name.resize(abi);
  return name;
}

std::vector<std::string> identity_of(const ReportedFinding& finding) {
  std::vector<std::string> names;
  for (const bool users_only : {true, false}) {
    for (const LabelledStack& stack : finding.stacks) {
      add_frames(stack, users_only, names);
      const bool has_kernel = stack.device && !stack.device->kernel.empty();
      if (has_kernel && names.size() < kMostFrames) {
        std::string kernel = function_identity(stack.device->kernel);
        if (names.empty() || names.back() != kernel) names.push_back(std::move(kernel));
      }
      if (!names.empty()) return names;
    }
  }
  if (finding.access && !finding.access->kernel.empty())
    names.push_back(function_identity(finding.access->kernel));
  return names;
}

std::vector<std::string> identity_of(const CallStack& stack) {
  std::vector<std::string> names;
  add_frames(stack, true, names);
  if (names.empty()) add_frames(stack, false, names);
  return names;
}

std::string fingerprint_of(const ReportedFinding& finding) {
  std::string text = std::string(kFingerprintVersion) + '\n' + finding.kind + '\n' + finding.api;
  for (const std::string& name : identity_of(finding)) text += '\n' + name;
  return fmt::format("{}-{:016x}", kFingerprintVersion, fnv1a(text));
}

void set_fingerprints(std::vector<ReportedFinding>& findings) {
  std::map<std::string, unsigned> seen;
  for (ReportedFinding& finding : findings) {
    finding.fingerprint = fingerprint_of(finding);
    const unsigned number = ++seen[finding.fingerprint];
    if (number > 1) finding.fingerprint += "-" + std::to_string(number);
  }
}

} // namespace gmt
