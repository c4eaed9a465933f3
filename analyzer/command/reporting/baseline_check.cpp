// SPDX-License-Identifier: Apache-2.0
// Comparison with a baseline; see baseline_check.h.

#include "analyzer/command/reporting/baseline_check.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/command.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

bool is_growth_rule(const PolicyRule& rule) { return rule.kind == PolicyRule::Kind::kMaxGrowth; }

void check_writable(const std::string& file) {
  std::error_code error;
  const fs::path folder = fs::path(file).parent_path();
  const std::string where = folder.empty() ? "." : folder.string();
  if (::access(where.c_str(), W_OK) != 0 || fs::is_directory(file, error))
    throw UserError("cannot write the baseline '" + file + "'; name a file in a writable folder",
                    ExitStatus::kUsage);
}

} // namespace

BaselineCheck::BaselineCheck(const Settings& settings) : settings_(settings) {
  const std::string& file = settings.baseline;
  if (file.empty()) {
    if (settings.update_baseline)
      throw UserError("--update-baseline needs the file: --baseline FILE", ExitStatus::kUsage);
    if (std::ranges::any_of(settings.policies, is_growth_rule))
      throw UserError("the rule max-growth needs a baseline: --baseline FILE", ExitStatus::kUsage);
    return;
  }
  std::error_code error;
  if (settings.update_baseline) {
    check_writable(file);
    if (!fs::exists(file, error) || fs::file_size(file, error) == 0) return;
  }
  baseline_ = read_baseline(file); // with an update too: another file must not be overwritten
}

void BaselineCheck::compare(Report& report) const {
  if (!baseline_ || settings_.update_baseline) return;
  compare_with(*baseline_, {settings_.baseline_tolerance}, report);
  for (const PolicyRule& rule : settings_.policies)
    if (is_growth_rule(rule)) check_growth(*baseline_, {rule.limit}, rule.text, report);
}

void BaselineCheck::update(const Report& report) const {
  if (!settings_.update_baseline) return;
  using Reason = Failure::Reason;
  for (const Reason reason : {Reason::kUnchecked, Reason::kIncomplete, Reason::kNoCalls}) {
    const Failure* failure = report.conclusion.find(reason);
    if (failure == nullptr) continue;
    say("the baseline '" + settings_.baseline + "' is not written: " + failure->sentence);
    return;
  }
  const fs::path file = settings_.baseline;
  const WriteFailure failure = replace_file(file, Into::kAnyFolder, [&report](std::ostream& out) {
    out << baseline_text(baseline_of(report));
  });
  if (failure)
    throw UserError("cannot write the baseline '" + file.string() + "': " + failure.why,
                    ExitStatus::kInternal);
  say("the baseline '" + file.string() + "' has " +
      format_plural(report.findings.size(), "finding") + " now");
}

} // namespace gmt
