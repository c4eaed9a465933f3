// SPDX-License-Identifier: Apache-2.0
// Records that kernels wrote, and the drain's about what it moved, as text; see dump_format.h.

#include "analyzer/base/text_format.h"
#include "analyzer/command/dump/columns.h"
#include "analyzer/command/dump/dump_format.h"
#include "analyzer/device_heap/device_heap.h"

namespace gmt {

std::string dump_line(const DeviceRecord& record, std::string_view log) {
  const auto index = [](trace::Index3 i) {
    return cat({std::to_string(i.x), ",", std::to_string(i.y), ",", std::to_string(i.z)});
  };
  if (record.head.kind == trace::Kind::kDeviceDrained) {
    const trace::DeviceDrainedView drained(record);
    using Column = trace::DeviceDrainedColumn;
    return cat({log, " drained", column(Column::slots, drained.slots()),
                column(Column::lost, drained.lost()), column(Column::torn, drained.torn()),
                " context=", std::to_string(record.host_slot().context)});
  }
  std::string line = cat({std::to_string(record.slot.time), " ", log, " "});
  if (record.head.kind == trace::Kind::kDeviceSite) {
    const DeviceSite site = site_of(record);
    using Column = trace::DeviceSiteColumn;
    return line + cat({"site", column(Column::id, trace::DeviceSiteView(record).id()),
                       " function=", in_quotes(site.function), " file=", in_quotes(site.file),
                       column(Column::line, site.line)});
  }
  if (record.head.kind == trace::Kind::kDeviceGrid) {
    const trace::DeviceGridView grid(record);
    using Column = trace::DeviceGridColumn;
    return line +
           cat({"grid", column(Column::id, grid.id()), column(Column::grid, index(grid.grid())),
                column(Column::block, index(grid.block()))});
  }
  // The words of a release are the same, as far as it has them
  const trace::DeviceAllocView call(record);
  using Column = trace::DeviceAllocColumn;
  line += cat({device_call(record.op()), column(Column::pointer, format_address(call.pointer()))});
  if (record.head.kind == trace::Kind::kDeviceAlloc) line += column(Column::bytes, call.bytes());
  if (record.op() == trace::DeviceOp::kAlignedMalloc)
    line += column(Column::alignment, call.alignment());
  if (record.space() != trace::DeviceSpace::kUnknown &&
      record.head.kind == trace::Kind::kDeviceFree) {
    line += record.space() == trace::DeviceSpace::kShared ? " shared" : " local";
  }
  line += cat({column(Column::grid, call.grid()), column(Column::block, index(call.block())),
               " thread=", index(trace::thread_of(record.slot.who)),
               " site=", std::to_string(trace::site_of(record.slot.who))});
  return record.head.result == trace::kDeviceOutOfMemory ? line + " = NULL" : line;
}

} // namespace gmt
