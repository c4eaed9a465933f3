// SPDX-License-Identifier: Apache-2.0
// cp.async as a copy at once: a load and a store, so that a thread finds the bytes before it waits
// for them. Waiting for groups of copies has no effect then.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>

namespace gmt::executor {

using ptx::Space;

// Of 1 to 16 bytes, a power of two.
void FunctionDecoder::copy_part(Target to, Target from, std::uint32_t at, std::uint32_t bytes,
                                bool with_zeros) {
  const std::uint32_t element = std::min(bytes, 8u), count = bytes / element;
  const std::string elements = count > 1 ? ".v2" : "";
  const std::string width = ".b" + std::to_string(element * 8);
  std::uint32_t values[2] = {builder_.constant(0, element), builder_.constant(0, element)};
  if (!with_zeros) {
    for (std::uint32_t i = 0; i < count; ++i) values[i] = temporary();
    Instruction& load =
      emit("ld.global" + elements + width, shape_of_access(from, element, count, true));
    std::copy_n(values, count, load.r);
    load.r[4] = from.operand;
    load.immediate = from.offset + at;
  }
  Instruction& store = emit("st.shared" + elements + (to.narrow ? ".a32" : "") + width,
                            shape_of_access(to, element, count, false));
  std::copy_n(values, count, store.r);
  store.r[4] = to.operand;
  store.immediate = to.offset + at;
}

// cp.async.ca.shared.global [to], [from], bytes{, bytes of the source}{, cache policy}: what the
// source lacks is zero. Only sizes that are known before are executed.
void FunctionDecoder::decode_copy() {
  check_words();
  const auto size_at = [&](std::size_t index) {
    const Operand& size = operand(index);
    if (size.kind != ptx::OperandKind::kImmediate) decode_not_executed();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(size.bits, 17));
  };
  const std::uint32_t bytes = size_at(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) decode_not_executed();
  const bool has_source_size = instruction_->operand_count > (has("L2::cache_hint") ? 4u : 3u);
  const std::uint32_t loaded = has_source_size ? size_at(3) : bytes;
  if (loaded > bytes) decode_not_executed();
  const Target to = address(operand(0), Space::kShared);
  const Target from = address(operand(1), Space::kGlobal);
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t end = at < loaded ? loaded : bytes;
    std::uint32_t part = bytes;
    while (at % part != 0 || at + part > end) part /= 2;
    note_shared_access(Space::kShared, part);
    copy_part(to, from, at, part, at >= loaded);
    at += part;
  }
}

} // namespace gmt::executor
