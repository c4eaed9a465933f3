// SPDX-License-Identifier: Apache-2.0
// The names that a trace gives: of functions by its file `apis`, of handles and texts by records,
// the newest of which counts. Records whose length makes no sense are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/model/trace_names.h"

namespace gmt {

class NameTable final : public TraceNames {
public:
  using Texts = std::unordered_map<std::uint64_t, std::string>; // of kText records, by id

  explicit NameTable(const std::vector<std::string>& apis) : apis_(apis) {}

  void follow(const Event& e); // records that are no calls

  // The function's symbol, "cuMemAlloc_v2"; "?" if unknown.
  std::string_view symbol(std::uint16_t api) const {
    return api < apis_.size() ? std::string_view(apis_[api]) : "?";
  }
  std::string_view api_name(std::uint16_t api) const override;
  std::string_view handle_name(std::uint64_t handle) const override;
  std::string_view text(std::uint64_t id) const override;
  const Texts& texts() const { return texts_; }

private:
  const std::vector<std::string>& apis_; // by number
  std::unordered_map<std::uint64_t, std::string> handles_;
  Texts texts_;
};

} // namespace gmt
