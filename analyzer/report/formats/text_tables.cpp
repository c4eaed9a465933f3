// SPDX-License-Identifier: Apache-2.0
// Which memory was used, and how much, as aligned columns: by kind of memory, by direction of
// copies, by call stack at the peak, by module; of tensors, by line and by part of the model. Of
// several processes the one with the highest peak is shown.
//
// A table of one row says little more than the totals below it, so it is left out unless all are
// asked for; so are rows beyond a table's share, which are counted.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/shared/call_site.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::text {
namespace {

constexpr std::size_t kMemoryKinds = 5, kModules = 3; // rows that are shown without being asked for
constexpr std::size_t kWidestName = 44;

// A name too long keeps its end, which distinguishes paths.
std::string fitted(const std::string& name) {
  if (columns(name) <= kWidestName) return name;
  return "..." + name.substr(name.size() - (kWidestName - 3));
}

void add_table(std::string& out, const Table& table, std::size_t most, TableChoice choice,
               const Page& page) {
  const bool all = choice == TableChoice::kAll;
  if (table.rows.size() < (all ? 1u : 2u)) return;
  const std::size_t count = all ? table.rows.size() : std::min(most, table.rows.size());
  out += lines_of(table, count, 0, page.width);
  if (const std::size_t more = table.rows.size() - count; more != 0) {
    out += fmt::format("  {} not shown: --tables all shows all\n", format_plural(more, "more row"));
  }
}

bool several_devices(const MemoryTables& tables) {
  return std::ranges::count_if(tables.devices,
                               [](const auto& device) { return device.device >= 0; }) > 1;
}

void add_memory_kinds(std::string& out, const MemoryTables& tables, TableChoice choice,
                      const Page& page) {
  Table table{{"memory", "allocations", "frees", "allocated", "peak", "live at end"}, {}};
  for (const MemoryTables::KindRow& f : tables.memory_kinds) {
    const bool named = f.device >= 0 && several_devices(tables);
    const std::string where = named ? fmt::format(", device {}", f.device) : "";
    table.rows.push_back({f.memory_kind + where, format_count(f.allocations), format_count(f.frees),
                          format_bytes(f.allocated_bytes), format_bytes(f.peak_bytes),
                          format_bytes(f.live_bytes)});
  }
  add_table(out, table, kMemoryKinds, choice, page);
}

void add_copies(std::string& out, const MemoryTables& tables, TableChoice choice,
                const Page& page) {
  Table table{{"copied", "copies", "bytes", "from or to pageable memory"}, {}};
  for (const MemoryTables::Copies& c : tables.copies) {
    table.rows.push_back({c.direction, format_count(c.copies), format_bytes(c.bytes),
                          c.pageable_bytes != 0 ? format_bytes(c.pageable_bytes) : "-"});
  }
  add_table(out, table, table.rows.size(), choice, page);
}

void add_modules(std::string& out, const MemoryTables& tables, TableChoice choice,
                 const Page& page) {
  Table table{{"allocated by", "allocations", "allocated", "device at peak", "live at end"}, {}};
  for (const MemoryTables::Module& m : tables.modules) {
    const std::string file(base_name(m.path));
    const std::string name = m.owner.empty() ? file : fmt::format("{} ({})", file, m.owner);
    table.rows.push_back({fitted(printable(name.empty() ? "(unknown)" : name)),
                          format_count(m.allocations), format_bytes(m.allocated_bytes),
                          format_bytes(m.peak_bytes), format_bytes(m.live_bytes)});
  }
  add_table(out, table, kModules, choice, page);
}

// ", through libcublas.so.13" if the library that called CUDA is not the shown frame's.
std::string through(const CallStack& stack) {
  const std::string_view inner = base_name(stack.frames.front().module);
  const std::string_view shown = base_name(stack.frames[shown_frame(stack)].module);
  const bool is_other = inner != shown || !backward_pass_of(stack).empty();
  return is_other && !inner.empty() ? ", through " + printable(inner) : std::string();
}

// "samples/first_steps.cu:34  load_batch". Where other holders stand at the same line: ", called
// at" the frame that distinguishes it from them.
std::string call_site_of(const CallStack& stack, const std::string& folder,
                         std::optional<std::size_t> differing, std::size_t room) {
  if (stack.frames.empty()) return "(no call stack was recorded)";
  if (const std::string backward = backward_pass_of(stack); !backward.empty())
    return printable(backward) + through(stack);
  const std::size_t at = shown_frame(stack);
  std::string call_site = location(stack.frames[at], folder);
  if (differing) {
    const Frame& caller = stack.frames[*differing]; // of the same file its name is enough
    const bool is_same = !caller.file.empty() && caller.file == stack.frames[at].file;
    const std::string own = std::filesystem::path(caller.file).parent_path().string();
    call_site += ", called at " + location(caller, is_same ? own : folder);
  }
  const std::size_t taken = columns(call_site) + 2;
  const std::string& name = stack.frames[differing.value_or(at)].function;
  const std::string function =
    printable(shorten_function(name, room > taken + 16 ? room - taken : 16));
  if (!function.empty()) call_site += "  " + function;
  return call_site + through(stack);
}

constexpr std::size_t kNoLimit = 1 << 20; // columns

struct HolderRow {
  std::string call_site;
  std::uint64_t bytes = 0, blocks = 0;
  std::string full = {}; // with the whole name of the function
  bool may_wrap = false;
  std::string amount() const {
    return fmt::format("{} in {}", format_bytes(bytes), format_plural(blocks, "block"));
  }
};

// Adds to the row of that call site.
void add_to_row(std::vector<HolderRow>& rows, const std::string& full, std::string call_site,
                const MemoryTables::Holder& holder) {
  auto row = std::ranges::find(rows, full, &HolderRow::full);
  if (row == rows.end()) {
    row = rows.emplace(rows.end());
    row->call_site = std::move(call_site);
    row->full = full;
  }
  row->bytes += holder.bytes;
  row->blocks += holder.blocks;
}
void add_to_row(std::vector<HolderRow>& rows, const std::string& call_site,
                const MemoryTables::Holder& holder) {
  add_to_row(rows, call_site, call_site, holder);
}

// Rows that would read the same with shortened names have whole ones.
void distinguish(std::vector<HolderRow>& rows) {
  std::map<std::string_view, std::vector<HolderRow*>> alike;
  for (HolderRow& row : rows) alike[row.call_site].push_back(&row);
  for (const auto& [text, several] : alike) {
    if (several.size() < 2) continue;
    for (HolderRow* row : several) row->may_wrap = true;
  }
  for (HolderRow& row : rows) {
    if (row.may_wrap) row.call_site = row.full;
  }
}

// Those that read the same are one.
std::vector<HolderRow> holder_rows(const MemoryTables& tables, const Page& page) {
  const std::size_t room = std::max(page.width, kFileWidth) - 36; // beside the share and the amount
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  std::vector<HolderRow> rows;
  std::vector<const CallStack*> stacks;
  for (const MemoryTables::Holder& holder : tables.holders) stacks.push_back(&holder.stack);
  const std::vector<std::optional<std::size_t>> differing = differing_frames(stacks);
  for (std::size_t i = 0; i < tables.holders.size(); ++i) {
    const MemoryTables::Holder& holder = tables.holders[i];
    add_to_row(rows, call_site_of(holder.stack, folder, differing[i], kNoLimit),
               call_site_of(holder.stack, folder, differing[i], room), holder);
  }
  distinguish(rows);
  std::ranges::stable_sort(rows, std::ranges::greater{}, &HolderRow::bytes);
  return rows;
}

void add_rows(std::string& out, const std::vector<HolderRow>& rows, std::uint64_t peak,
              const Page& page) {
  std::size_t width = 0;
  for (const HolderRow& row : rows) width = std::max(width, row.amount().size());
  for (const HolderRow& row : rows) {
    const double share = 100 * static_cast<double>(row.bytes) / static_cast<double>(peak);
    const std::string amount = fmt::format("  {:5.1f} %   {}", share, row.amount());
    const std::string filled = pad(amount, width + 12);
    const bool is_too_long = (page.width < kFileWidth || row.may_wrap) &&
                             columns(filled) + 3 + columns(row.call_site) > page.width;
    if (is_too_long) out += amount + "\n" + wrap(row.call_site, 8, 6, page.width);
    else out += filled + "   " + row.call_site + "\n";
  }
}

// By the part of a PyTorch model that made them: one line makes those of all layers of its kind,
// and none of the program's does where the model is a library's.
void add_tensors_of_model(std::string& out, const MemoryTables::Tensors& tensors,
                          TableChoice choice, const Page& page) {
  constexpr std::size_t kPartRows = 5;
  std::vector<HolderRow> rows;
  for (const MemoryTables::Holder& holder : tensors.holders) {
    if (!holder.model_part.empty()) add_to_row(rows, printable(holder.model_part), holder);
  }
  if (rows.size() < 2) return;
  std::ranges::stable_sort(rows, std::ranges::greater{}, &HolderRow::bytes);
  std::uint64_t other_bytes = 0, others = 0;
  for (; choice != TableChoice::kAll && rows.size() > kPartRows; rows.pop_back(), ++others)
    other_bytes += rows.back().bytes;
  out += "of these in parts of the model\n";
  add_rows(out, rows, tensors.peak_bytes, page);
  if (others != 0)
    out +=
      fmt::format("  {} in {}\n", format_bytes(other_bytes), format_plural(others, "other part"));
}

// A line of Python makes tensors in many ways, so stacks are joined before rows are left out.
void add_tensors(std::string& out, const MemoryTables::Tensors& tensors, TableChoice choice,
                 const Page& page) {
  constexpr std::size_t kTensorRows = 10;
  if (tensors.holders.empty()) return;
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  std::vector<HolderRow> rows;
  for (const MemoryTables::Holder& holder : tensors.holders) {
    const std::vector<Frame>& frames = holder.stack.frames;
    std::string call_site = printable(backward_pass_of(holder.stack));
    if (call_site.empty())
      call_site = frames.empty() ? "(no call stack was recorded)"
                                 : location(frames[shown_frame(holder.stack)], folder);
    add_to_row(rows, call_site, holder);
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &HolderRow::bytes);
  std::uint64_t other_bytes = tensors.other_bytes, others = tensors.other_holders;
  for (; choice != TableChoice::kAll && rows.size() > kTensorRows; rows.pop_back(), ++others)
    other_bytes += rows.back().bytes;
  out += fmt::format("tensors at their peak of {}, by line\n", format_bytes(tensors.peak_bytes));
  add_rows(out, rows, tensors.peak_bytes, page);
  if (others != 0) {
    out +=
      fmt::format("  {} in {}\n", format_bytes(other_bytes), format_plural(others, "other place"));
  }
}

void add_libraries(std::string& out, const MemoryTables& tables, const Page& page) {
  if (tables.libraries.empty()) return;
  std::string words;
  for (const MemoryTables::Library& library : tables.libraries)
    words += (words.empty() ? "" : ", ") + library.owner + " " + format_bytes(library.bytes);
  out += wrap(printable("held by libraries at the end: " + words), 2, 0, page.width);
}

void add_holders(std::string& out, const ProcessReport& process, TableChoice choice,
                 const Page& page) {
  const MemoryTables& tables = process.tables;
  if (tables.holders.size() < (choice == TableChoice::kAll ? 1u : 2u)) return;
  out += wrap(
    cat({"held at the peak of ", format_bytes(process.totals.peak_bytes), " of device memory"}), 2,
    0, page.width);
  add_rows(out, holder_rows(tables, page), process.totals.peak_bytes, page);
  if (tables.other_holders != 0) {
    out += fmt::format("  {} in {}\n", format_bytes(tables.other_bytes),
                       format_plural(tables.other_holders, "other place"));
  }
}

} // namespace

std::string tables(const Report& report, TableChoice choice, const Page& page) {
  if (choice == TableChoice::kNone || report.processes.empty()) return "";
  const ProcessReport& process = *std::ranges::max_element(
    report.processes, {}, [](const ProcessReport& p) { return p.totals.peak_bytes; });
  std::string out;
  add_memory_kinds(out, process.tables, choice, page);
  add_copies(out, process.tables, choice, page);
  add_modules(out, process.tables, choice, page);
  // Segments of the cache say less than the tensors in them.
  if (process.tables.tensors.holders.empty() || choice == TableChoice::kAll)
    add_holders(out, process, choice, page);
  add_tensors(out, process.tables.tensors, choice, page);
  if (report.with_sources) add_tensors_of_model(out, process.tables.tensors, choice, page);
  add_libraries(out, process.tables, page);
  if (!out.empty() && report.processes.size() > 1) {
    return fmt::format("of the process with the highest peak, pid {}:\n", process.pid) + out;
  }
  return out;
}

} // namespace gmt::text
