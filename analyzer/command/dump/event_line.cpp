// SPDX-License-Identifier: Apache-2.0
// Events of the host's calls as text; see dump_format.h. trace/records.def names the columns, in
// the order of the payload's words. Shows what the trace says, also where it makes no sense:
// numbers without a name are printed as they are.

#include "analyzer/command/dump/dump_format.h"

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "analyzer/base/text_format.h"
#include "analyzer/command/dump/columns.h"
#include "trace/records.h"
#include "trace/vocabulary_words.h"

namespace gmt {
namespace {

enum class Form : std::uint8_t {
  kHex,
  kDecimal,
  kName,
  kGrid,
  kBlock,
  kBlockIndex,
  kThreadIndex,
  kHandle,
  kText
};

struct Format {
  Form form;
  std::string (*word)(std::uint64_t value) = nullptr; // of an enumeration
};

template <class Enumeration> std::string word_of_value(std::uint64_t value) {
  const bool fits = value <= std::numeric_limits<std::underlying_type_t<Enumeration>>::max();
  const std::string_view word =
    fits ? trace::word_of(static_cast<Enumeration>(value)) : std::string_view();
  if (word.empty()) return value == 0 ? "?" : std::to_string(value);
  return std::string(word);
}

// How each form of records.def is shown. Those of records that are no events are shown further
// below.
namespace forms {

constexpr Format Hex{Form::kHex}, Decimal{Form::kDecimal}, Handle{Form::kHandle}, Text{Form::kText};
constexpr Format Grid{Form::kGrid}, Block{Form::kBlock}, BlockIndex{Form::kBlockIndex},
  ThreadIndex{Form::kThreadIndex}, Halves{Form::kHex};
#define GMT_ENUM(name, meaning) constexpr Format name{Form::kName, word_of_value<trace::name>};
#define GMT_VALUE(name, member, number, word, since, meaning)
#define GMT_END_ENUM(name)
#include "trace/object_classes.def"
#include "trace/vocabulary.def"
#undef GMT_ENUM
#undef GMT_VALUE
#undef GMT_END_ENUM

} // namespace forms

struct Field {
  std::string_view column; // empty: it has none
  Format shown;
};

// One table for each record, and what its kind is called where it is no call.
#define ALIAS(record, name, field, form, when)
#define REST(record, name, form, since, meaning)
#define RECORD(record, number, what, since, meaning) constexpr Field k##record##Fields[] = {
#define FIELD(record, number, name, form, column, since, meaning) {column, forms::form},
#define END_RECORD(record)                                                                         \
  }                                                                                                \
  ;
#include "trace/records.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

#define FIELD(record, number, name, form, column, since, meaning)
#define END_RECORD(record)

std::span<const Field> fields_of(EventKind kind) {
  switch (static_cast<unsigned>(kind)) {
#define RECORD(record, number, what, since, meaning)                                               \
  case number: return k##record##Fields;
#include "trace/records.def"
#undef RECORD
  default: return {};
  }
}

} // namespace

std::string_view kind_word(EventKind kind) {
  switch (static_cast<unsigned>(kind)) {
#define RECORD(record, number, what, since, meaning)                                               \
  case number: return what;
#include "trace/records.def"
#undef RECORD
  default: return "?";
  }
}

namespace {

#undef FIELD
#undef END_RECORD
#undef ALIAS
#undef REST

std::string extents_text(trace::Index3 extents) {
  return cat(
    {std::to_string(extents.x), "x", std::to_string(extents.y), "x", std::to_string(extents.z)});
}

std::string index_text(trace::Index3 index) {
  return cat({std::to_string(index.x), ",", std::to_string(index.y), ",", std::to_string(index.z)});
}

std::string value_text(const Field& field, std::uint64_t value, const NameTable& names) {
  switch (field.shown.form) {
  case Form::kHex: return format_address(value);
  case Form::kDecimal: return std::to_string(value);
  case Form::kName: return field.shown.word(value);
  case Form::kGrid: return extents_text(trace::grid_of(value));
  case Form::kBlock: return extents_text(trace::block_extents_of(value));
  case Form::kBlockIndex: return index_text(trace::block_of(value));
  case Form::kThreadIndex: return index_text(trace::block_extents_of(value));
  case Form::kHandle: {
    const std::string_view name = names.handle_name(value);
    return name.empty() ? format_address(value) : cat({format_address(value), ":", name});
  }
  case Form::kText: return value == 0 ? "-" : in_quotes(names.text(value));
  }
  return {};
}

// What is no list of fields: strings, and the parameters of a kernel as offset:size.
std::string description(const Event& event, const NameTable& names) {
  switch (event.kind) {
  case EventKind::kName: {
    const std::uint64_t handle = event.name().handle;
    return cat(
      {column(trace::NameColumn::handle, format_address(handle)), " ", names.handle_name(handle)});
  }
  case EventKind::kText: {
    const std::uint64_t id = event.text().id;
    return cat({column(trace::TextColumn::id, format_address(id)), " ", in_quotes(names.text(id))});
  }
  case EventKind::kKernel: {
    const event::Kernel& kernel = event.kernel();
    std::string line =
      cat({column(trace::KernelColumn::function, format_address(kernel.function)), " parameters="});
    const char* separator = "";
    for (const auto& [offset, bytes] : kernel.parameters) {
      line += cat({separator, std::to_string(offset), ":", std::to_string(bytes)});
      separator = ",";
    }
    return line;
  }
  default: return {};
  }
}

// Possible pointers among a kernel's arguments, each with the number of its parameter.
std::string arguments_text(const Event& event) {
  std::string text;
  for (const Argument argument : arguments_of(event)) {
    if (argument.is_unused()) continue;
    const unsigned parameter = argument.parameter();
    const std::string number = parameter == kNoParameter ? "?" : std::to_string(parameter);
    text += cat({" #", number, "=", format_address(argument.address())});
  }
  return text;
}

std::string flags_text(const Event& event) {
  std::string text;
  if (event.kind == EventKind::kCopy && event.copy().is_batched) text += " batched";
  if (event.kind == EventKind::kUse) {
    if (event.use().reads) text += " reads";
    if (event.use().writes) text += " writes";
    if (event.use().is_of_recorded_copy) text += " told-before";
  }
  if (event.is_nested) text += " nested";
  return text;
}

} // namespace

std::string call_result_text(const Event& event) {
  if (event.in_flight()) return "in flight";
  return event.result == 0 ? "0" : error_name(event.result, event.from_runtime);
}

void for_each_column(const Event& event, std::span<const std::uint64_t> words,
                     const NameTable& names,
                     const std::function<void(std::string_view column, std::string value)>& visit) {
  const std::span<const Field> fields = fields_of(event.kind);
  for (unsigned i = 0; i < std::min(fields.size(), words.size()); ++i) {
    if (fields[i].column.empty() || (i >= trace::kFirstPayloadWords && words[i] == 0))
      continue; // or does not apply
    visit(fields[i].column, value_text(fields[i], words[i], names));
  }
}

std::string dump_columns(const Event& event, std::span<const std::uint64_t> words,
                         const NameTable& names) {
  std::string text;
  for_each_column(event, words, names, [&text](std::string_view name, const std::string& value) {
    text += column(name, value);
  });
  return text + arguments_text(event);
}

std::string dump_line(const Event& event, std::span<const std::uint64_t> words,
                      const NameTable& names, std::string_view thread) {
  const bool call = is_call(event.kind);
  std::string line = cat({std::to_string(event.order), " ", thread, " ",
                          call ? names.symbol(event.api) : kind_word(event.kind)});
  if (event.via != trace::kNoApi && call) line += cat({" (", names.symbol(event.via), ")"});
  if (const std::string text = description(event, names); !text.empty()) return line + text;
  line += dump_columns(event, words, names);
  if (call) line += " = " + call_result_text(event);
  line += flags_text(event);
  if (event.ticks != 0) line += cat({" ticks=", std::to_string(event.ticks)});
  if (event.context != 0) line += " context=" + std::to_string(event.context);
  if (event.stack) line += " stack=" + std::to_string(event.stack.value);
  return line;
}

} // namespace gmt
