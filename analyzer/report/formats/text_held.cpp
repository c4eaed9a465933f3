// SPDX-License-Identifier: Apache-2.0
// Where the memory was when an allocation failed: what the driver said, which modules held how
// much, and what had been freed in which pieces. The call stacks that held it stand above this part
// of a finding's text.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"

namespace gmt::text {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kRows = 5;

void add_table(std::string& out, const Table& table, const Page& page) {
  const std::size_t rows = std::min(kRows, table.rows.size());
  out += lines_of(table, rows, kIndent, page.width);
  if (const std::size_t more = table.rows.size() - rows; more != 0) {
    out.append(kIndent + 2, ' ')
      .append(fmt::format("({} not shown)\n", format_plural(more, "more row")));
  }
}

// One module alone held all that the finding's sentence names.
void add_modules(std::string& out, const HeldMemory& held, const Page& page) {
  if (held.modules.size() < 2) return;
  Table table{{"held by", "blocks", "bytes"}, {}};
  for (const HeldMemory::Module& m : held.modules) {
    const std::string file(base_name(m.path));
    const std::string name = m.owner.empty() ? file : fmt::format("{} ({})", file, m.owner);
    table.rows.push_back({printable(name.empty() ? "(unknown)" : name), format_count(m.blocks),
                          format_bytes(m.bytes)});
  }
  add_table(out, table, page);
}

std::string kept(const HeldMemory::Pool& pool) {
  if (!pool.release_threshold) return "-";
  return *pool.release_threshold == UINT64_MAX ? "all" : format_bytes(*pool.release_threshold);
}

void add_pools(std::string& out, const HeldMemory& held, const Page& page) {
  if (held.pools.empty()) return;
  const bool kept_any = std::ranges::any_of(
    held.pools, [](const HeldMemory::Pool& pool) { return pool.release_threshold.has_value(); });
  Table table{{"pool", "held", "freed", "largest piece", "fragmentation"}, {}};
  if (kept_any) table.heads.push_back("release threshold");
  for (const HeldMemory::Pool& pool : held.pools) {
    const bool freed = pool.freed_bytes != 0;
    table.rows.push_back({printable(pool.name), format_bytes(pool.bytes),
                          format_bytes(pool.freed_bytes),
                          freed ? format_bytes(pool.largest_freed) : "-",
                          freed ? fmt::format("{:.0f} %", 100 * pool.fragmentation()) : "-"});
    if (kept_any) table.rows.back().push_back(kept(pool));
  }
  add_table(out, table, page);
}

} // namespace

std::string held_text(const HeldMemory& held, const Page& page) {
  std::string out;
  if (held.other_holders != 0) {
    out +=
      fmt::format("{:{}}held in {}: {}\n", "", kIndent,
                  format_plural(held.other_holders, "other place"), format_bytes(held.other_bytes));
  }
  if (held.free_bytes && held.total_bytes) {
    const std::string device =
      held.device >= 0 ? fmt::format("device {}", held.device) : "the device";
    out +=
      wrap(fmt::format(
             "Right after it {} had {} of {} free. About {} (an estimate) were held by what is "
             "not traced: contexts, code, memory that pools keep, other programs.",
             device, format_bytes(*held.free_bytes), format_bytes(*held.total_bytes),
             format_bytes(*held.untraced_bytes())),
           kIndent, kIndent, page.width);
  } else if (!held.is_host) {
    out += wrap(
      "How much of the device was free, and what others held, is not known: this trace lacks it.",
      kIndent, kIndent, page.width);
  }
  add_modules(out, held, page);
  add_pools(out, held, page);
  return out;
}

} // namespace gmt::text
