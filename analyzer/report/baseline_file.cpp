// SPDX-License-Identifier: Apache-2.0
// The file of a baseline, see baseline.h: JSON with one finding a line, so that a change of it
// reads well in a review.
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "analyzer/base/user_error.h"
#include "analyzer/report/baseline.h"
#include "analyzer/report/fingerprint.h"

namespace gmt {
namespace {

using BaselineJson = nlohmann::ordered_json;

constexpr int kBaselineVersion = 1;
constexpr const char* kFunctionKey = "fingerprint_v1";
constexpr std::array<const char*, 3> kSeverityWords = {"note", "warning", "error"};

[[noreturn]] void wrong_baseline(const std::string& name, const std::string& why) {
  throw UserError("'" + name + "' is no baseline: " + why +
                    "; make one with 'gpumemtrace check --baseline FILE --update-baseline ./app'",
                  ExitStatus::kUsage);
}

std::string one_line(const BaselineJson& json) {
  return json.dump(-1, ' ', false, BaselineJson::error_handler_t::replace);
}

std::string text_at_key(const BaselineJson& object, const char* key, const std::string& name) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string())
    wrong_baseline(name, std::string("'") + key + "' is missing or no text");
  return at->get<std::string>();
}

std::uint64_t number_at_key(const BaselineJson& object, const char* key, const std::string& name) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_unsigned())
    wrong_baseline(name, std::string("'") + key + "' is missing or no number");
  return at->get<std::uint64_t>();
}

const BaselineJson& child(const BaselineJson& object, const char* key, bool is_array,
                          const std::string& name) {
  const auto at = object.find(key);
  if (at == object.end() || (is_array ? !at->is_array() : !at->is_object()))
    wrong_baseline(name, std::string("'") + key + "' is missing");
  return *at;
}

bool is_known_version(std::string_view fingerprint) {
  return has_source_line(fingerprint) ||
         fingerprint.starts_with(std::string(kFunctionFingerprintVersion) + "-");
}

BaselineFinding finding_from(const BaselineJson& object, const std::string& name) {
  if (!object.is_object()) wrong_baseline(name, "a finding is no object");
  BaselineFinding finding;
  finding.kind = text_at_key(object, "kind", name);
  finding.fingerprint = text_at_key(object, "fingerprint", name);
  if (!is_known_version(finding.fingerprint))
    wrong_baseline(name, "the fingerprint '" + finding.fingerprint + "' is not of version " +
                           std::string(kFunctionFingerprintVersion) + " or " +
                           std::string(kFingerprintVersion));
  if (object.contains(kFunctionKey))
    finding.function_fingerprint = text_at_key(object, kFunctionKey, name);
  const std::string severity = text_at_key(object, "severity", name);
  const auto* const at = std::ranges::find(kSeverityWords, severity);
  if (at == kSeverityWords.end()) wrong_baseline(name, "'" + severity + "' is no severity");
  finding.severity = static_cast<Severity>(at - kSeverityWords.begin());
  finding.count = number_at_key(object, "count", name);
  finding.bytes = number_at_key(object, "bytes", name);
  if (object.contains("in")) finding.functions = text_at_key(object, "in", name);
  return finding;
}

} // namespace

std::string baseline_text(const Baseline& baseline) {
  std::string text = "{\"gpumemtrace_baseline\": " + std::to_string(kBaselineVersion) +
                     ",\n\"memory\": {\"peak_bytes\": " + std::to_string(baseline.peak_bytes) +
                     ", \"live_bytes\": " + std::to_string(baseline.live_bytes) +
                     "},\n\"findings\": [";
  bool is_first = true;
  for (const BaselineFinding& finding : baseline.findings) {
    BaselineJson line = {{"kind", finding.kind},
                         {"in", finding.functions},
                         {"severity", kSeverityWords[static_cast<unsigned>(finding.severity)]},
                         {"count", finding.count},
                         {"bytes", finding.bytes},
                         {"fingerprint", finding.fingerprint}};
    if (has_source_line(finding.fingerprint)) line[kFunctionKey] = finding.function_fingerprint;
    text += (is_first ? "\n" : ",\n") + one_line(line);
    is_first = false;
  }
  return text + "\n]}\n";
}

Baseline parse_baseline(std::string_view text, const std::string& name) {
  const BaselineJson json = BaselineJson::parse(text, nullptr, false);
  if (!json.is_object()) wrong_baseline(name, "it is no JSON object");
  if (number_at_key(json, "gpumemtrace_baseline", name) != kBaselineVersion)
    wrong_baseline(name, "it is of another version of the format");
  const BaselineJson& memory = child(json, "memory", false, name);
  Baseline baseline;
  baseline.peak_bytes = number_at_key(memory, "peak_bytes", name);
  baseline.live_bytes = number_at_key(memory, "live_bytes", name);
  for (const BaselineJson& finding : child(json, "findings", true, name))
    baseline.findings.push_back(finding_from(finding, name));
  return baseline;
}

Baseline read_baseline(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  if (!in || std::filesystem::is_directory(file, error)) {
    throw UserError("cannot read the baseline '" + file.string() + "': " +
                      std::strerror(errno != 0 ? errno : EISDIR) + "; --update-baseline makes it",
                    ExitStatus::kUsage);
  }
  std::ostringstream text;
  text << in.rdbuf();
  return parse_baseline(text.str(), file.string());
}

} // namespace gmt
