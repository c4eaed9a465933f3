// SPDX-License-Identifier: Apache-2.0
// Fingerprints of findings, see fingerprint.h.
#include "analyzer/report/fingerprint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "analyzer/analysis/owners.h"
#include "analyzer/base/glob.h"
#include "analyzer/base/path.h"
#include "analyzer/base/starts_with.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/source_text.h"
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

std::vector<Frame> frames_of(const CallStack& stack, bool users_only) {
  std::vector<Frame> frames;
  for (const Frame& frame : stack.frames) {
    if (frame.tail_call || (users_only && !is_users_frame(frame))) continue;
    if (!name_of_frame(frame).empty()) frames.push_back(frame);
  }
  return frames;
}

Frame kernel_frame(const std::string& kernel) {
  Frame frame;
  frame.function = kernel;
  return frame;
}

std::vector<std::string> first_names(const std::vector<Frame>& frames) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < frames.size() && i < kMostFrames; ++i)
    names.push_back(name_of_frame(frames[i]));
  return names;
}

std::vector<std::string_view> scopes_of(std::string_view name) {
  std::vector<std::string_view> scopes;
  for (std::size_t begin = 0;;) {
    const std::size_t end = name.find("::", begin);
    scopes.push_back(name.substr(begin, end - begin));
    if (end == std::string_view::npos) return scopes;
    begin = end + 2;
  }
}

bool is_destructor(const Frame& frame) {
  return frame.language.empty() &&
         scopes_of(function_identity(frame.function)).back().starts_with('~');
}

bool is_in_header(const Frame& frame) {
  static constexpr std::array<std::string_view, 8> kEndings = {".h",   ".hh",  ".hpp", ".hxx",
                                                               ".cuh", ".inl", ".ipp", ".tcc"};
  return std::ranges::any_of(
    kEndings, [&frame](std::string_view ending) { return frame.file.ends_with(ending); });
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Compilers differ in whether a lambda has the name of the function that it stands in.
std::string without_scope_of_lambda(const std::string& name) {
  constexpr std::string_view kCall = "operator()";
  const bool is_lambda = name == kCall || name.ends_with("{lambda}::operator()");
  return is_lambda ? "{lambda}" : name;
}

std::string hashed(std::string_view version, const std::string& text) {
  return fmt::format("{}-{:016x}", version, fnv1a(cat({version, "\n", text})));
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

bool has_source_line(std::string_view fingerprint) { return fingerprint.starts_with("2-"); }

std::string name_of_frame(const Frame& frame) {
  if (frame.language == "python") return python_identity(frame);
  return frame.function.empty() ? module_identity(frame) : function_identity(frame.function);
}

bool is_constructor(const Frame& frame) {
  if (!frame.language.empty()) return frame.function.ends_with("__init__");
  const std::string name = function_identity(frame.function);
  const std::vector<std::string_view> scopes = scopes_of(name);
  return scopes.size() > 1 && scopes.back() == scopes[scopes.size() - 2];
}

std::vector<Frame> own_frames(const ReportedFinding& finding) {
  for (const bool users_only : {true, false}) {
    for (const LabelledStack& stack : finding.stacks) {
      std::vector<Frame> frames = frames_of(stack, users_only);
      if (stack.device && !stack.device->kernel.empty()) {
        Frame kernel = kernel_frame(stack.device->kernel);
        if (frames.empty() || name_of_frame(frames.back()) != name_of_frame(kernel))
          frames.push_back(std::move(kernel));
      }
      if (!frames.empty()) return frames;
    }
  }
  if (finding.access && !finding.access->kernel.empty())
    return {kernel_frame(finding.access->kernel)};
  return {};
}

std::vector<Frame> distinguishing_frames(const ReportedFinding& finding) {
  std::vector<Frame> chosen;
  for (Frame& frame : own_frames(finding)) {
    // Compilers differ in the line to which the end of an object's life belongs.
    const bool is_end_of_life = is_destructor(frame);
    const bool others_call_it = is_constructor(frame) || is_in_header(frame);
    const bool has_line = frame.line != 0;
    if (chosen.empty() || (!is_end_of_life && has_line)) chosen.push_back(std::move(frame));
    if (is_end_of_life || !others_call_it || chosen.size() == kMostFrames) break;
  }
  return chosen;
}

std::vector<std::string> identity_of(const ReportedFinding& finding) {
  return first_names(own_frames(finding));
}

std::vector<std::string> identity_of(const CallStack& stack) {
  std::vector<Frame> frames = frames_of(stack, true);
  if (frames.empty()) frames = frames_of(stack, false);
  return first_names(frames);
}

std::string function_fingerprint_of(const ReportedFinding& finding) {
  std::string text = finding.kind + '\n' + finding.api;
  for (const std::string& name : identity_of(finding)) text += '\n' + name;
  return hashed(kFunctionFingerprintVersion, text);
}

std::string fingerprint_of(const ReportedFinding& finding) {
  if (finding.source_lines.empty()) return function_fingerprint_of(finding);
  std::string text = finding.kind + '\n' + finding.api;
  for (const std::string& name : identity_of(finding)) text += '\n' + without_scope_of_lambda(name);
  for (const std::string& line : finding.source_lines) text += "\n@" + normal_line(line);
  return hashed(kFingerprintVersion, text);
}

void set_fingerprints(std::vector<ReportedFinding>& findings) {
  std::map<std::string, unsigned> seen;
  const auto unique = [&seen](std::string fingerprint) {
    const unsigned number = ++seen[fingerprint];
    return number > 1 ? fingerprint + "-" + std::to_string(number) : fingerprint;
  };
  for (ReportedFinding& finding : findings) finding.fingerprint = unique(fingerprint_of(finding));
  seen.clear();
  for (ReportedFinding& finding : findings)
    finding.function_fingerprint = unique(function_fingerprint_of(finding));
}

} // namespace gmt
