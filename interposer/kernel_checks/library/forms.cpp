// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/forms.h"

#include <algorithm>

#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/sampling.h"

namespace gmt::interposer::kernel_checks {

Table* table_of_stream(CUstream named) noexcept {
  const bool is_current = named == CU_STREAM_LEGACY || named == CU_STREAM_PER_THREAD;
  CUcontext context = nullptr;
  if (is_current) driver.current(&context);
  else context = context_of_stream(named);
  if (context == nullptr) return nullptr;
  Table* const known = table_of(context);
  if (known != nullptr || any_capture()) return known; // none gets one while a stream captures
  const Work work(context);
  return work.ready() && has_table() ? table_of(context) : nullptr;
}

std::optional<PlainReason> why_plain(const Kernel& kernel, Table* table) noexcept {
  const std::uint64_t number = kernel.asked.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!is_chosen_launch(number)) return PlainReason::kLaunches;
  if (!is_in_chosen_range()) return PlainReason::kRange;
  if (kernel.checked == nullptr) return PlainReason::kKernel;
  if (kernel.launches.load(std::memory_order_relaxed) >= checked_launches())
    return PlainReason::kEnough;
  const bool is_elsewhere = kernel.context != nullptr && table_of(kernel.context) != table;
  if (table == nullptr || is_elsewhere) return PlainReason::kContext;
  return is_ready(kernel, *table) ? std::nullopt : std::optional(PlainReason::kVariables);
}

// Nodes run as often as their graph does.
std::optional<PlainReason> why_plain_in_graph(const Kernel& kernel, Table* table,
                                              const Shape& shape) noexcept {
  if (is_sampling()) return PlainReason::kSample;
  if (const std::optional<PlainReason> why = why_plain(kernel, table)) return why;
  const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const bool fits =
    threads <= UINT32_MAX && can_launch(kernel, static_cast<std::uint32_t>(threads));
  return fits ? std::nullopt : std::optional(PlainReason::kDevice);
}

bool can_be_cooperative(const Kernel& kernel, const Table& table, const Shape& shape,
                        std::size_t shared_bytes, bool asks_cluster) noexcept {
  const Work work(table.context());
  if (!work.ready()) return false;
  const auto threads = static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]);
  int of_plain = 0, of_checked = 0;
  if (driver.blocks_at_once(&of_plain, kernel.handle, threads, shared_bytes) != 0 ||
      driver.blocks_at_once(&of_checked, kernel.checked, threads, shared_bytes) != 0)
    return false;
  if (of_checked >= of_plain) return true; // so it fits where the program's kernel does
  // Parts of a device, and how clusters share it, are not asked for.
  CUcontext context = nullptr;
  CUgreenCtx green = nullptr;
  const bool is_green =
    driver.stream_contexts(shape.stream, &context, &green) == 0 && green != nullptr;
  const bool is_whole = !is_green && table.is_primary_of(table.device());
  if (!is_whole || asks_cluster || has_cluster(kernel)) return false;
  int processors = 0;
  if (driver.attribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, table.device()) != 0)
    return false;
  const std::uint64_t most = std::uint64_t(of_checked) * static_cast<unsigned>(processors);
  const std::uint64_t slice = std::uint64_t{shape.grid[0]} * shape.grid[1];
  return slice <= most && slice * shape.grid[2] <= most;
}

Launch describe(const Kernel& kernel, const Table& table, CUfunction function,
                const Shape& shape) noexcept {
  Launch launch;
  launch.call = core->call_in_progress();
  launch.function = reinterpret_cast<std::uint64_t>(function);
  const bool is_default = shape.stream == CU_STREAM_LEGACY; // 0 in the program's calls
  launch.stream = is_default ? 0 : reinterpret_cast<std::uint64_t>(shape.stream);
  launch.table = table.index();
  launch.module = kernel.module;
  launch.kernel = kernel.name.c_str();
  std::ranges::copy(shape.grid, launch.grid);
  std::ranges::copy(shape.block, launch.block);
  return launch;
}

} // namespace gmt::interposer::kernel_checks
