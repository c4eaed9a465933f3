// SPDX-License-Identifier: Apache-2.0
// An entry is a head and a payload: numbers of 8 bytes, and texts with their size before them. The
// head has the key and a sum of the payload.
#include "interposer/kernel_checks/library/entry_text.h"

#include <cstring>
#include <utility>

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::uint64_t kMagic = 0x0245444f43544d47; // "GMTCODE", 2
constexpr std::size_t kHeadWords = 6;                // magic, key, sum, bytes of the payload

class Writer {
public:
  void number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() < sizeof value) {
      good_ = false;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(number()); }
  std::string text() {
    const std::uint64_t size = number();
    if (!good_ || size > bytes_.size()) {
      good_ = false;
      return {};
    }
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  // How many things follow, each of which takes some bytes.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size()) good_ = false;
    return good_ ? value : 0;
  }
  bool is_good() const { return good_; }
  bool is_at_end() const { return good_ && bytes_.empty(); }

private:
  std::string_view bytes_;
  bool good_ = true;
};

void write(Writer& to, const rewriter::Site& site) {
  to.text(site.function);
  to.number(site.ptx_line);
  to.text(site.instruction);
  to.number(site.lines.size());
  for (const rewriter::SourceLine& line : site.lines) {
    to.text(line.file);
    to.number(line.line);
    to.text(line.function);
  }
  to.number(static_cast<std::uint64_t>(site.kind));
  to.number(site.bytes);
  to.number(site.is_generic ? 1 : 0);
  to.number(site.is_assert ? 1 : 0);
  to.text(site.location);
  to.text(site.condition);
  to.text(site.array);
}

rewriter::Site read_site(Reader& from) {
  rewriter::Site site;
  site.function = from.text();
  site.ptx_line = from.word();
  site.instruction = from.text();
  for (std::uint64_t i = from.count(); i > 0 && from.is_good(); --i) {
    rewriter::SourceLine line;
    line.file = from.text();
    line.line = from.word();
    line.function = from.text();
    site.lines.push_back(std::move(line));
  }
  site.kind = static_cast<rewriter::AccessKind>(from.number());
  site.bytes = from.word();
  site.is_generic = from.number() != 0;
  site.is_assert = from.number() != 0;
  site.location = from.text();
  site.condition = from.text();
  site.array = from.text();
  return site;
}

std::string payload_of(const CachedCode& code) {
  Writer to;
  to.number(static_cast<std::uint64_t>(code.heap_use));
  to.number(code.code.kernels.size());
  for (std::size_t i = 0; i < code.code.kernels.size(); ++i) {
    const rewriter::LaunchParameter& launch = code.code.launch_parameters[i];
    to.text(code.code.kernels[i]);
    to.number(launch.is_there ? 1 : 0);
    to.number(launch.index);
    to.number(launch.offset);
  }
  to.number(code.code.sites.size());
  for (const rewriter::Site& site : code.code.sites) write(to, site);
  to.number(code.code.unchecked.size());
  for (const rewriter::Unchecked& one : code.code.unchecked) {
    to.text(one.function);
    to.text(one.reason);
  }
  to.number(code.code.writes_unseen ? 1 : 0);
  to.text(code.machine);
  to.text(code.why_plain);
  return to.take();
}

std::optional<CachedCode> read_payload(std::string_view payload) {
  Reader from(payload);
  CachedCode code;
  code.heap_use = static_cast<HeapUse>(from.number());
  for (std::uint64_t i = from.count(); i > 0 && from.is_good(); --i) {
    code.code.kernels.push_back(from.text());
    rewriter::LaunchParameter launch;
    launch.is_there = from.number() != 0;
    launch.index = from.word();
    launch.offset = from.word();
    code.code.launch_parameters.push_back(launch);
  }
  for (std::uint64_t i = from.count(); i > 0 && from.is_good(); --i)
    code.code.sites.push_back(read_site(from));
  for (std::uint64_t i = from.count(); i > 0 && from.is_good(); --i) {
    rewriter::Unchecked one;
    one.function = from.text();
    one.reason = from.text();
    code.code.unchecked.push_back(std::move(one));
  }
  code.code.writes_unseen = from.number() != 0;
  code.machine = from.text();
  code.why_plain = from.text();
  const bool is_code = !code.machine.empty() && !code.code.kernels.empty();
  if (!from.is_at_end() || is_code != code.why_plain.empty()) return std::nullopt;
  return code;
}

std::uint64_t sum_of(std::string_view payload) {
  CodeKey sum;
  sum.add(payload);
  return sum.words()[0];
}

} // namespace

std::string entry_of(const CachedCode& code, const CodeKey& key) {
  const std::string payload = payload_of(code);
  Writer to;
  to.number(kMagic);
  for (const std::uint64_t word : key.words()) to.number(word);
  to.number(sum_of(payload));
  to.number(payload.size());
  to.number(0);
  return to.take() + payload;
}

std::optional<CachedCode> code_of_entry(std::string_view entry, const CodeKey& key) {
  Reader head(entry);
  if (entry.size() < kHeadWords * sizeof(std::uint64_t) || head.number() != kMagic)
    return std::nullopt;
  for (const std::uint64_t word : key.words()) {
    if (head.number() != word) return std::nullopt;
  }
  const std::uint64_t sum = head.number(), bytes = head.number();
  const std::string_view payload = entry.substr(kHeadWords * sizeof(std::uint64_t));
  if (bytes != payload.size() || sum != sum_of(payload)) return std::nullopt;
  return read_payload(payload);
}

} // namespace gmt::interposer::kernel_checks
