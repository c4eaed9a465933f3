// SPDX-License-Identifier: Apache-2.0
// Frames that the trace has resolved already are taken from there.

#include "analyzer/command/database/frame_tables.h"

#include "analyzer/base/text_format.h"
#include "analyzer/symbols/frame_trim.h"
#include "analyzer/symbols/stack_frames.h"
#include "analyzer/symbols/symbols_cache.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {
namespace {

// The frames of one process's stacks, by the numbers of its stack table.
class StackNames {
public:
  StackNames(const EventStream& stream, bool with_symbols)
      : stacks_(stream.stacks()), modules_(stream.trace().modules),
        known_(with_symbols ? SymbolFile::read(stream.trace().path) : SymbolFile()) {
    if (!with_symbols) return;
    for (std::uint32_t i = 1; i <= stacks_.size(); ++i) {
      for (const std::uint64_t address : stacks_.frames(StackId{i})) {
        const Module* module = find_module(modules_, address);
        if (module != nullptr && known_.find(address, module->loaded) == nullptr)
          resolver_.want(*module, address);
      }
    }
    resolver_.resolve();
  }
  // Innermost first
  std::vector<Frame> frames(StackId stack) const {
    const auto names = [&](const Module& module, std::uint64_t address) {
      const std::vector<Frame>* known = known_.find(address, module.loaded);
      return known != nullptr ? *known : resolver_.frames(module, address);
    };
    return stack_frames(stacks_, stack, modules_, names, false);
  }

private:
  const StackTable& stacks_;
  const std::vector<Module>& modules_;
  SymbolFile known_;
  SymbolResolver resolver_;
};

} // namespace

std::uint64_t FrameTables::number_of(const Frame& frame) {
  // Frames without a module are known by their address alone.
  const std::uint64_t offset = frame.module.empty() ? frame.address : frame.module_offset;
  std::string key =
    cat({frame.function, "\n", frame.file, "\n", std::to_string(frame.line), "\n", frame.module,
         "\n", std::to_string(offset), frame.inlined ? "i" : "", frame.tail_call ? "t" : ""});
  const auto [at, is_new] = numbers_.try_emplace(std::move(key), numbers_.size() + 1);
  if (!is_new) return at->second;
  frames_.number(at->second).text_or_null(frame.function).text_or_null(frame.file);
  frames_.number_or_null(frame.line).text_or_null(frame.module).number(offset);
  frames_.number(frame.inlined ? 1 : 0).text_or_null(frame.language).done();
  return at->second;
}

void FrameTables::add_stacks(const EventStream& stream, std::uint64_t process, std::uint64_t first,
                             bool with_symbols) {
  const StackNames names(stream, with_symbols);
  for (std::uint32_t i = 1; i <= stream.stacks().size(); ++i) {
    stacks_.number(first + i).number(process).done();
    std::vector<Frame> frames = names.frames(StackId{i});
    trim_frames(frames);
    for (std::size_t depth = 0; depth < frames.size(); ++depth)
      stack_frames_.number(first + i).number(depth).number(number_of(frames[depth])).done();
  }
}

} // namespace gmt
