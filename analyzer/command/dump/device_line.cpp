// SPDX-License-Identifier: Apache-2.0
// Records that kernels wrote, and the drain's about what it moved, as text; see dump_format.h.

#include "analyzer/base/text_format.h"
#include "analyzer/command/dump/columns.h"
#include "analyzer/command/dump/dump_format.h"
#include "analyzer/device_heap/device_heap.h"
#include "trace/records.h"
#include "trace/vocabulary_words.h"

namespace gmt {

std::string dump_line(const DeviceRecord& record, std::string_view log) {
  const auto index = [](trace::Index3 i) {
    return cat({std::to_string(i.x), ",", std::to_string(i.y), ",", std::to_string(i.z)});
  };
  using Kind = DeviceRecord::Kind;
  if (record.kind == Kind::kDrained) {
    using Column = trace::DeviceDrainedColumn;
    return cat({log, " drained", column(Column::slots, record.slots),
                column(Column::lost, record.lost), column(Column::torn, record.torn),
                " context=", std::to_string(record.context)});
  }
  std::string line = cat({std::to_string(record.time), " ", log, " "});
  if (record.kind == Kind::kSite) {
    using Column = trace::DeviceSiteColumn;
    return line +
           cat({"site", column(Column::id, record.id),
                " function=", in_quotes(record.site.function),
                " file=", in_quotes(record.site.file), column(Column::line, record.site.line)});
  }
  if (record.kind == Kind::kGrid) {
    using Column = trace::DeviceGridColumn;
    return line + cat({"grid", column(Column::id, record.id),
                       column(Column::grid, index(record.extents.index())),
                       column(Column::block, index(record.block.index()))});
  }
  using Column = trace::DeviceAllocColumn;
  line += cat({device_call(record.op), column(Column::pointer, format_address(record.pointer))});
  if (record.kind == Kind::kAllocation) line += column(Column::bytes, record.bytes);
  if (record.op == trace::DeviceOp::kAlignedMalloc)
    line += column(Column::alignment, record.alignment);
  if (record.space != trace::DeviceSpace::kUnknown && record.kind == Kind::kFree)
    line += cat({" ", trace::word_of(record.space)});
  line +=
    cat({column(Column::grid, record.id), column(Column::block, index(record.block.index())),
         " thread=", index(record.thread.index()), " site=", std::to_string(record.thread.site())});
  return record.is_out_of_memory ? line + " = NULL" : line;
}

} // namespace gmt
