// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/grid_preparation.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace gmt::executor {
namespace {

struct PointedBlock {
  std::uint64_t begin = 0, bytes = 0; // 0: it is not known
};

PointedBlock block_behind(const Launch& launch, const Grid& grid, std::uint32_t offset) {
  std::uint64_t pointer = 0;
  PointedBlock block;
  if (offset + sizeof pointer > grid.parameters.size()) return block;
  std::memcpy(&pointer, grid.parameters.data() + offset, sizeof pointer);
  if (!launch.block_at(pointer, &block.begin, &block.bytes)) return {};
  return block;
}

// At most: registers may leave room for less.
std::uint64_t blocks_of_gpu(const Launch& launch, const Grid& grid) {
  constexpr std::uint64_t kWarps = 64, kBlocks = 32, kReserved = 1024; // of a multiprocessor
  const std::uint64_t shared = launch.device.shared_bytes_per_block + kReserved;
  const std::uint64_t each =
    std::min({kWarps / grid.warps, kBlocks, shared / (grid.shared_bytes + kReserved)});
  return std::max<std::uint64_t>(each, 1) * std::max(launch.device.multiprocessors, 1u);
}

} // namespace

void fill_constants(Grid& grid, const Program& program) {
  std::copy(program.constants.begin(), program.constants.end(), grid.constants);
  for (const ParameterConstant& each : program.parameters) {
    std::byte* to = grid.constants + (each.constant.offset);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(to + lane * each.constant.bytes, grid.parameters.data() + each.parameter_offset,
                  each.constant.bytes);
  }
}

void lay_out_shared(Grid& grid, const Program& program, std::uint64_t dynamic_bytes) {
  const bool has_dynamic = dynamic_bytes != 0;
  std::uint64_t size = 0;
  for (const SharedVariable& variable : program.shared) {
    if (!variable.is_dynamic) size = std::max(size, variable.offset + variable.bytes);
  }
  if (has_dynamic) size = program.static_shared_bytes + dynamic_bytes;
  grid.shared_bytes = static_cast<std::uint32_t>((size + 3) / 4 * 4);
  grid.shared_pattern.assign(grid.shared_bytes / 4, 0);
  const auto allocate = [&](std::uint64_t from, std::uint64_t bytes) {
    for (std::uint64_t at = from; at < from + bytes; ++at)
      grid.shared_pattern[at / 4] |= static_cast<std::uint8_t>(1u << (at % 4));
  };
  for (const SharedVariable& variable : program.shared) {
    if (!variable.is_dynamic) allocate(variable.offset, variable.bytes);
    if (!variable.is_reserved) continue;
    for (std::uint64_t at = variable.offset; at < variable.offset + variable.bytes; at += 4)
      grid.shared_pattern[at / 4] = 0xff; // zeros at a block's start
  }
  if (has_dynamic) allocate(program.static_shared_bytes, dynamic_bytes);
}

void find_never_written(const Launch& launch, const Program& program, Grid& grid) {
  if (program.writes_elsewhere || !launch.block_at) return;
  std::vector<PointedBlock> written;
  for (const std::uint32_t offset : program.written_through) {
    written.push_back(block_behind(launch, grid, offset));
    if (written.back().bytes == 0) return;
  }
  for (std::size_t i = 0; i < program.loaded_through.size(); ++i) {
    const PointedBlock loaded = block_behind(launch, grid, program.loaded_through[i]);
    const bool is_written = std::ranges::any_of(written, [&](const PointedBlock& block) {
      return loaded.begin < block.begin + block.bytes && block.begin < loaded.begin + loaded.bytes;
    });
    grid.never_written[i + 1] = loaded.bytes != 0 && !is_written ? 1 : 0;
  }
}

Residents residents_of(const Launch& launch, const Grid& grid, const Program& program) {
  const auto frames = [&](const Code& code) {
    const std::uint64_t of_lanes = std::uint64_t{code.local_bytes} + code.parameter_bytes;
    return grid.warps * (code.register_bytes + of_lanes * kLanes);
  };
  constexpr std::uint64_t kRaceBytes = 16; // of a granule
  const std::uint64_t of_shared = 2 + kRaceBytes / program.shared_granule;
  std::uint64_t each = grid.shared_bytes * of_shared + 4096;
  const std::uint64_t least = each + frames(*program.functions.front());
  for (const auto& code : program.functions) each += frames(*code);
  const std::uint64_t most = launch.limits.memory_bytes / least;
  if (most == 0) return {};
  if (launch.cooperative) {
    const std::uint64_t all = grid.blocks <= most ? grid.blocks : 0;
    return {all, all, true};
  }
  const std::uint64_t by_memory = std::max<std::uint64_t>(launch.limits.memory_bytes / each, 1);
  const std::uint64_t by_warps =
    std::max<std::uint64_t>(launch.limits.resident_warps / grid.warps, 1);
  Residents blocks;
  blocks.usual = std::min({grid.blocks, by_memory, by_warps});
  const std::uint64_t of_gpu = blocks_of_gpu(launch, grid);
  blocks.most = std::max(blocks.usual, std::min({grid.blocks, by_memory, of_gpu}));
  blocks.fill_gpu = blocks.most >= of_gpu;
  return blocks;
}

} // namespace gmt::executor
