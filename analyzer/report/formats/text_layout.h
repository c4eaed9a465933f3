// SPDX-License-Identifier: Apache-2.0
// The small parts that a text report is laid out with: columns, wrapping, words for facts. Whatever
// comes from the program passes through printable(), so that no name can steer the reader's
// terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/printable.h"
#include "analyzer/report/output_format.h"

namespace gmt::text {

// What the text is written on.
struct Page {
  std::size_t width = kFileWidth; // columns
  bool color = false;
  bool links = false; // OSC 8

  // The text in one of a terminal's ways to show it, such as "1;32".
  std::string shown(std::string_view text, std::string_view way) const;
};

using gmt::printable;
// Columns that the text takes: UTF-8 characters, not bytes.
std::size_t columns(std::string_view text);
std::string pad(std::string_view text, std::size_t width); // never cuts
// Words on lines of at most `width`, each line indented; ends with a newline.
std::string wrap(std::string_view text, std::size_t indent, std::size_t first_indent,
                 std::size_t width);

// Aligned columns: a line of heads, and the rows below it two columns further in.
struct Table {
  // A cell a column; the first one is left-aligned, the others right
  using Row = std::vector<std::string>;
  Row heads;
  std::vector<Row> rows;
};
// The first `rows` rows. Where the columns do not fit into the width, each row has its cells below
// its name.
std::string lines_of(const Table& table, std::size_t rows, std::size_t indent, std::size_t width);

std::string command_line(const ProcessReport& process);
// file:line below `folder` shortened
std::string location(const Frame& frame, const std::string& folder);
std::string amount(const ReportedFinding& finding); // "64.0 MiB in 16 blocks", "2 times", empty
// Below the stacks of a finding
std::string held_text(const HeldMemory& held, const Page& page);
// The findings as the text shows them: of what one library does for itself, one that speaks of all.
std::vector<ReportedFinding> with_libraries_in_brief(const Report& report);
// With what several ranks of a run have once, and where it is.
std::vector<ReportedFinding> once_for_all_ranks(const Report& report,
                                                std::vector<ReportedFinding> findings);
// A row for each rank, and which of them differ; empty if there are not several
std::string rank_table(const Report& report, TableChoice choice, const Page& page);

// Frames of a stack that stand together: one that is shown, or several that are counted.
struct ShownFrames {
  std::size_t first = 0, count = 1;
  std::string of = {}; // whose they are; empty: the frame is shown
  // They stand before all others in the stack, and behind them here
  bool is_innermost = false;
};
std::vector<ShownFrames> shown_frames(const std::vector<Frame>& frames);
std::string finding_text(const ReportedFinding& finding, unsigned stack_depth, const Page& page);
// The call stacks of a finding, with the source line of the program's own first frame
std::string stacks_text(const ReportedFinding& finding, unsigned stack_depth, const Page& page);
// Who used how much memory; may be empty
std::string tables(const Report& report, TableChoice choice, const Page& page);
// Where memory traffic went; may be empty
std::string access_tables(const Report& report, TableChoice choice, const Page& page);
// How far kernels ran on the simulated device; empty if none was asked to
std::string device_line(const Report& report, const Page& page);
// Which of their results a GPU may compute otherwise; may be empty
std::string fidelity_table(const Report& report, TableChoice choice, const Page& page);
std::string summary(const Report& report); // the last line

} // namespace gmt::text
