// SPDX-License-Identifier: Apache-2.0
// The file: a head, then for each form its name, fingerprint and results, compressed as one. Bytes
// of a result's elements lie in planes, since neighbours are alike there.
#include "tests/executor/forms/recording.h"

#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

namespace gmt::forms {
namespace {

constexpr std::string_view kHead = "gpumemtrace opcode forms 1\n";
constexpr int kLevel = 19, kWindowLog = 26;

void put(std::string& to, const void* bytes, std::size_t size) {
  to.append(static_cast<const char*>(bytes), size);
}
void put_number(std::string& to, std::uint64_t number) { put(to, &number, sizeof number); }
void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view taken = take(sizeof value);
    if (good_) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }

private:
  std::string_view bytes_;
  bool good_ = true;
};

// Words of 8 bytes by planes: of forms with narrower results a plane holds each second element.
std::string in_planes(std::span<const std::byte> bytes, bool back) {
  const std::size_t words = bytes.size() / 8;
  std::string result(bytes.size(), '\0');
  for (std::size_t word = 0; word < words; ++word) {
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t plain = word * 8 + i, plane = i * words + word;
      result[back ? plain : plane] = static_cast<char>(bytes[back ? plane : plain]);
    }
  }
  return result; // arrays are multiples of 256 bytes
}

std::string contents(const Recording& recording) {
  std::string all;
  put_text(all, recording.device);
  put_number(all, recording.of_form.size());
  for (const auto& [name, results] : recording.of_form) {
    put_text(all, name);
    put_number(all, results.fingerprint);
    put_number(all, results.refused ? 1 : 0);
    put_text(all, in_planes(results.bytes, false));
  }
  return all;
}

} // namespace

std::string write_recording(const Recording& recording, const std::string& path) {
  const std::string all = contents(recording);
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, kWindowLog);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_enableLongDistanceMatching, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(all.size()), '\0');
  const std::size_t size =
    ZSTD_compress2(context.get(), packed.data(), packed.size(), all.data(), all.size());
  if (ZSTD_isError(size)) return ZSTD_getErrorName(size);
  std::ofstream file(path, std::ios::binary);
  file << kHead;
  file.write(packed.data(), static_cast<std::streamsize>(size));
  file.close();
  return file ? "" : "cannot write " + path;
}

std::string read_recording(const std::string& path, Recording* recording) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "cannot open " + path;
  const std::string packed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!packed.starts_with(kHead)) return path + " is no recording of opcode forms";
  const std::string_view body = std::string_view(packed).substr(kHead.size());
  const unsigned long long size = ZSTD_getFrameContentSize(body.data(), body.size());
  if (size > (1ull << 30)) return path + " is damaged: it has no size";
  std::string all(size, '\0');
  const std::size_t read = ZSTD_decompress(all.data(), all.size(), body.data(), body.size());
  if (ZSTD_isError(read) || read != all.size())
    return path + " is damaged: " + ZSTD_getErrorName(read);
  Reader reader(all);
  recording->device = reader.take(reader.number());
  const std::uint64_t forms = reader.number();
  for (std::uint64_t i = 0; i < forms && reader.good(); ++i) {
    const std::string name(reader.take(reader.number()));
    Results& results = recording->of_form[name];
    results.fingerprint = reader.number();
    results.refused = reader.number() != 0;
    const std::string_view planes = reader.take(reader.number());
    const std::string plain =
      in_planes({reinterpret_cast<const std::byte*>(planes.data()), planes.size()}, true);
    const auto* bytes = reinterpret_cast<const std::byte*>(plain.data());
    results.bytes.assign(bytes, bytes + plain.size());
  }
  return reader.good() && reader.at_end() ? "" : path + " is damaged: it ends in a form";
}

} // namespace gmt::forms
