// SPDX-License-Identifier: Apache-2.0
// Records of a trace as text, one a line: their words by the columns of trace/records.def. Events
// are in event_line.cpp, records of kernels in device_line.cpp, access logs in access_lines.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/model/event.h"
#include "analyzer/trace_reader/access_log.h"
#include "analyzer/trace_reader/device_log.h"
#include "analyzer/trace_reader/facts/name_table.h"

namespace gmt {

// "order thread call (via) name=value... = result context=n stack=n"; `thread` is the log's name.
// `words` are the record's.
std::string dump_line(const Event& event, std::span<const std::uint64_t> words,
                      const NameTable& names, std::string_view thread);

// What the record says, field by field, in the order of its words: the name of a column, and its
// value as text. Fields of the payload that are 0 are left out.
void for_each_column(const Event& event, std::span<const std::uint64_t> words,
                     const NameTable& names,
                     const std::function<void(std::string_view column, std::string value)>& visit);
// "0", "in flight", or the name of an error.
std::string call_result_text(const Event& event);

// The part of it with what the call was given: " name=value...".
std::string dump_columns(const Event& event, std::span<const std::uint64_t> words,
                         const NameTable& names);
// What records of the kind are called: "alloc".
std::string_view kind_word(EventKind kind);

// The same of a record that a kernel wrote, or the drain about what it moved; `log` is the device
// log's name.
std::string dump_line(const DeviceRecord& record, std::string_view log);

// All of one access log, a line for each of its records; ends with a newline unless there are none.
std::string dump_lines(const AccessLog& log);

} // namespace gmt
