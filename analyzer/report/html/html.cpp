// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file that needs nothing else: a page that is the same for all reports, and
// in it the JSON report and the history of memory as data. Whatever the traced program can name is
// in that data alone, and the data cannot end its element: it has no '<'.
#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "analyzer/report/html/compare_page.h"
#include "analyzer/report/html/page_data.h"
#include "analyzer/report/output_format.h"

extern "C" const char gmt_page_begin[];
extern "C" const char gmt_page_middle[];
extern "C" const char gmt_page_end[];

namespace gmt {
namespace {

// JSON has '<' in strings alone.
void write_data(std::string_view id, std::string_view json, std::ostream& out) {
  out << "<script type=\"application/json\" id=\"" << id << "\">";
  while (!json.empty()) {
    const std::size_t plain = std::min(json.find('<'), json.size());
    out << json.substr(0, plain);
    if (plain == json.size()) break;
    out << "\\u003c";
    json.remove_prefix(plain + 1);
  }
  out << "</script>\n";
}

// Its figures and the JSON format's are the same.
std::string json_report(const Report& report, const OutputOptions& options) {
  std::ostringstream text;
  for (const OutputInfo* output : outputs()) {
    if (output->id == "json") output->write(report, options, text);
  }
  return text.str();
}

std::string text_of(const nlohmann::ordered_json& data) {
  return data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// A browser draws no more, and the page stays small; the JSON report has all.
constexpr std::size_t kMostOnPage = 1000;

OutputOptions for_page(OutputOptions options) {
  if (options.limit == 0 || options.limit > kMostOnPage) options.limit = kMostOnPage;
  return options;
}

void write_page(const Report& report, std::string_view json, std::string_view comparison,
                const std::string& source_root, std::ostream& out) {
  out.write(gmt_page_begin, gmt_page_middle - gmt_page_begin);
  write_data("report-data", json, out);
  write_data("history-data", text_of(html::page_data(report, kMostOnPage, source_root)), out);
  if (!comparison.empty()) write_data("compare-data", comparison, out);
  out.write(gmt_page_middle, gmt_page_end - gmt_page_middle);
}

void write_html(const Report& report, const OutputOptions& options, std::ostream& out) {
  write_page(report, json_report(report, for_page(options)), {}, options.source_root, out);
}

const OutputRegistration kHtml{
  {.id = "html", .title = "one file for a browser", .write = write_html, .needs_history = true}};

} // namespace

void html::write_compare_page(const ComparedRun& before, const ComparedRun& after,
                              const ReportDiff& diff, const std::string& json, std::ostream& out) {
  write_page(after.report, json, text_of(compare_data(before, after, diff)), {}, out);
}

} // namespace gmt
