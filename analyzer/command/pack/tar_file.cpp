// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/pack/tar_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include <zstd.h>

namespace gmt {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecord = 512; // all of an archive counts in these
constexpr int kLevel = 6;
constexpr unsigned char kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct TarHeader { // numbers are octal digits
  char name[100], mode[8], user[8], group[8], size[12], time[12], sum[8], type, link[100], magic[6],
    version[2], user_name[32], group_name[32], major[8], minor[8], folder[155], unused[12];
};
static_assert(sizeof(TarHeader) == kRecord);

template <std::size_t N> void put_octal(char (&field)[N], std::uint64_t value) {
  field[N - 1] = '\0';
  for (std::size_t i = N - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

// Octal digits end at 8 GiB. GNU tar and others write more as a binary number, highest byte first,
// behind a mark.
constexpr char kBinary = static_cast<char>(0x80);
constexpr std::uint64_t kOctalSizes = std::uint64_t{1} << 33, kMostBytes = std::uint64_t{1} << 62;

void put_size(char (&field)[12], std::uint64_t value) {
  if (value < kOctalSizes) return put_octal(field, value);
  for (std::size_t i = sizeof field; i-- > 0; value >>= 8) field[i] = static_cast<char>(value);
  field[0] = kBinary;
}

// Of the header, the sum's own field counting as blanks.
unsigned sum_of(const TarHeader& header) {
  TarHeader plain = header;
  std::memset(plain.sum, ' ', sizeof plain.sum);
  unsigned sum = 0;
  for (const unsigned char c : std::span(reinterpret_cast<const unsigned char*>(&plain), kRecord))
    sum += c;
  return sum;
}

template <std::size_t N> std::string_view text_of(const char (&field)[N]) {
  return {field, ::strnlen(field, N)};
}

template <std::size_t N> std::optional<std::uint64_t> octal_of(const char (&field)[N]) {
  std::string_view text = text_of(field);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

std::optional<std::uint64_t> size_of(const char (&field)[12]) {
  if (field[0] != kBinary) return octal_of(field);
  std::uint64_t value = 0;
  for (std::size_t i = 1; i < sizeof field; ++i) {
    if (value >= kMostBytes >> 8) return std::nullopt;
    value = value << 8 | static_cast<unsigned char>(field[i]);
  }
  return value;
}

std::uint64_t up_to_record(std::uint64_t bytes) {
  return (bytes + kRecord - 1) / kRecord * kRecord;
}

// "FOLDER/NAME", perhaps behind "./"; no entry for another form.
std::optional<TarEntry> entry_of(const TarHeader& header) {
  std::string path(text_of(header.folder));
  if (!path.empty()) path += '/';
  path += text_of(header.name);
  if (path.starts_with("./")) path.erase(0, 2);
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) return std::nullopt;
  TarEntry entry{path.substr(0, slash), path.substr(slash + 1), 0};
  const auto is_plain = [](std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos;
  };
  if (!is_plain(entry.folder) || !is_plain(entry.name)) return std::nullopt;
  return entry;
}

// The archive behind zstd, as a stream of bytes.
class Unpacker {
public:
  explicit Unpacker(const fs::path& file)
      : file_(open_regular(file)), stream_(ZSTD_createDStream(), &ZSTD_freeDStream),
        packed_(ZSTD_DStreamInSize()), plain_(ZSTD_DStreamOutSize()) {}

  // At most `most` bytes, which are valid until the next call; none at the end.
  std::span<const char> next(std::uint64_t most) {
    if (at_ == end_) refill();
    const std::size_t size = std::min<std::uint64_t>(end_ - at_, most);
    at_ += size;
    return {plain_.data() + at_ - size, size};
  }

  bool read(void* into, std::size_t bytes) {
    for (char* to = static_cast<char*>(into); bytes != 0;) {
      const std::span<const char> part = next(bytes);
      if (part.empty()) return false;
      std::memcpy(to, part.data(), part.size());
      to += part.size();
      bytes -= part.size();
    }
    return true;
  }

  bool skip(std::uint64_t bytes) {
    while (bytes != 0) {
      const std::span<const char> part = next(bytes);
      if (part.empty()) return false;
      bytes -= part.size();
    }
    return true;
  }

  const std::string& problem() const { return problem_; }

private:
  void refill() {
    at_ = end_ = 0;
    while (end_ == 0 && problem_.empty()) {
      if (input_.pos == input_.size && !is_held_back_) {
        input_ = {packed_.data(), read_at(file_.number(), packed_.data(), packed_.size(), read_),
                  0};
        if (input_.size == 0) return;
        read_ += input_.size;
      }
      ZSTD_outBuffer output{plain_.data(), plain_.size(), 0};
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(left) != 0) problem_ = ZSTD_getErrorName(left);
      is_held_back_ = output.pos == output.size;
      end_ = output.pos;
    }
  }

  Descriptor file_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> packed_, plain_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  bool is_held_back_ = false; // zstd may have more without more input
  std::uint64_t read_ = 0;    // of the file
  std::size_t at_ = 0, end_ = 0;
  std::string problem_;
};

// Why the entry is passed over without a word, or refused.
enum class Meaning { kFile, kPassedOver, kRefused };

Meaning meaning_of(const TarHeader& header) {
  switch (header.type) {
  case '0':
  case '\0': return Meaning::kFile;
  case '5':                              // a folder: those of files are made anyway
  case 'x':                              // more about the next entry, such as a time in parts of
  case 'g': return Meaning::kPassedOver; // a second
  default: return Meaning::kRefused;
  }
}

} // namespace

struct TarWriter::Stream {
  std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> zstd{ZSTD_createCStream(),
                                                                     &ZSTD_freeCStream};
  std::vector<char> packed = std::vector<char>(ZSTD_CStreamOutSize());

  void write(std::ostream& out, std::span<const char> bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer output{packed.data(), packed.size(), 0};
      const std::size_t left = ZSTD_compressStream2(zstd.get(), &output, &input, directive);
      if (ZSTD_isError(left) != 0) return out.setstate(std::ios::badbit);
      out.write(packed.data(), static_cast<std::streamsize>(output.pos));
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return;
    }
  }
};

TarWriter::TarWriter(std::ostream& out) : out_(out), stream_(std::make_unique<Stream>()) {
  ZSTD_CCtx_setParameter(stream_->zstd.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(stream_->zstd.get(), ZSTD_c_checksumFlag, 1);
}

TarWriter::~TarWriter() = default;

void TarWriter::write(std::span<const char> bytes) { stream_->write(out_, bytes, ZSTD_e_continue); }

void TarWriter::add(std::string_view folder, std::string_view name, const Descriptor& file) {
  TarHeader header = {};
  struct stat status = {};
  ::fstat(file.number(), &status);
  const std::uint64_t bytes = bytes_of(file);
  name.copy(header.name, sizeof header.name);
  folder.copy(header.folder, sizeof header.folder);
  put_octal(header.mode, 0600);
  put_octal(header.user, 0);
  put_octal(header.group, 0);
  put_size(header.size, bytes);
  put_octal(header.time, static_cast<std::uint64_t>(std::max<std::int64_t>(status.st_mtime, 0)));
  header.type = '0';
  std::memcpy(header.magic, "ustar", sizeof header.magic);
  std::memcpy(header.version, "00", sizeof header.version);
  put_octal(header.sum, sum_of(header));
  write({reinterpret_cast<const char*>(&header), sizeof header});
  std::vector<char> part(std::size_t{1} << 17);
  const std::uint64_t end = up_to_record(bytes);
  for (std::uint64_t done = 0; done < end && out_;) {
    const std::size_t size = std::min<std::uint64_t>(part.size(), end - done);
    const std::size_t wanted = std::min<std::uint64_t>(size, bytes > done ? bytes - done : 0);
    const std::size_t got = read_at(file.number(), part.data(), wanted, done);
    std::fill(part.begin() + static_cast<std::ptrdiff_t>(got),
              part.begin() + static_cast<std::ptrdiff_t>(size), '\0');
    write({part.data(), size});
    done += size;
  }
}

void TarWriter::finish() {
  const std::array<char, 2 * kRecord> end = {};
  stream_->write(out_, end, ZSTD_e_end);
}

bool is_packed_file(const fs::path& file) {
  const Descriptor opened = open_regular(file);
  unsigned char begin[sizeof kZstdMagic] = {};
  return opened && read_at(opened.number(), begin, sizeof begin, 0) == sizeof begin &&
         std::memcmp(begin, kZstdMagic, sizeof begin) == 0;
}

std::string read_tar(const fs::path& file, const std::function<std::string(const TarEntry&)>& begin,
                     const std::function<std::string(std::span<const char>)>& data) {
  Unpacker archive(file);
  const auto ends_early = [&archive] {
    return archive.problem().empty() ? std::string("it ends too early") : archive.problem();
  };
  for (;;) {
    TarHeader header = {};
    if (!archive.read(&header, sizeof header)) return ends_early();
    if (header.name[0] == '\0' && octal_of(header.sum).value_or(0) == 0) return {};
    const auto size = size_of(header.size), sum = octal_of(header.sum);
    if (!size || sum != sum_of(header) || text_of(header.magic).substr(0, 5) != "ustar")
      return "it holds no tar archive";
    const std::uint64_t padding = up_to_record(*size) - *size;
    const Meaning meaning = meaning_of(header);
    std::optional<TarEntry> entry = entry_of(header);
    if (meaning == Meaning::kPassedOver) {
      if (!archive.skip(*size + padding)) return ends_early();
      continue;
    }
    if (meaning == Meaning::kRefused || !entry) return "it holds more than regular files of traces";
    entry->bytes = *size;
    if (std::string why = begin(*entry); !why.empty()) return why;
    for (std::uint64_t left = *size; left != 0;) {
      const std::span<const char> part = archive.next(left);
      if (part.empty()) return ends_early();
      if (std::string why = data(part); !why.empty()) return why;
      left -= part.size();
    }
    if (!archive.skip(padding)) return ends_early();
  }
}

} // namespace gmt
