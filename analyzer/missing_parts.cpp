// SPDX-License-Identifier: Apache-2.0
// See missing_parts.h.

#include "analyzer/missing_parts.h"

#include "analyzer/words.h"

namespace gmt {
namespace {

constexpr std::uint64_t kMostBelieved = 1'000'000'000; // more is a damaged order, and not a log

std::string files_in_words(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += cat({text.empty() ? "" : ", ", file});
  return text;
}

} // namespace

void explain_missing(const EventStream& stream, ProcessReport& process, Findings& findings) {
  if (!stream.is_judged_for_gaps()) return;
  const std::vector<std::string> files = missing_logs(stream.trace());
  const std::uint64_t records = stream.missing_records();
  if (records > kMostBelieved) {
    ++process.damaged;
    findings.not_checked({"memory findings", "a record's place in the order of calls is damaged"});
    return;
  }
  if (files.empty() && records == 0) return;
  std::string& what = process.missing;
  if (records != 0) {
    process.lost["missing from the trace"] += records;
    what = cat({format_plural(records, "record"), records == 1 ? " is" : " are",
                " missing from the trace (the order of the calls has a gap that nothing explains: was a log "
                "deleted, or not copied?)"});
  }
  if (!files.empty()) {
    what += cat({what.empty() ? "" : "; ", "the trace lacks ", files.size() == 1 ? "the log " : "the logs ",
                 files_in_words(files)});
  }
  findings.not_checked({"leak", cat({what, ": a block listed as leaked may have been freed there, and an "
                                           "allocation there is not listed"})});
  findings.not_checked({"memory findings", cat({what, ": mistakes in calls there were not seen"})});
}

} // namespace gmt
