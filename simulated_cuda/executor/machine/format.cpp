// SPDX-License-Identifier: Apache-2.0
// Conversions of the device's printf: the C library formats each of them by itself. Sizes count as
// on an H100: `h` and `hh` cut an integer to 16 and 8 bits. Of those that CUDA does not have, such
// as `z`, it prints the lower 32 bits; what it then prints of later arguments is no part of them,
// and is printed right here. Such a conversion is named where it spoils something: a value of more
// bits, or any argument behind it.
#include "simulated_cuda/executor/machine/format.h"

#include <cstdio>
#include <cstring>

namespace gmt::executor {
namespace {

constexpr const char* kFlags = "-+ #0123456789.";

enum class Size : std::uint8_t { kWord, kByte, kHalf, kLong, kOther };

struct Conversion {
  std::string text; // all of it, for a report
  std::string flags;
  Size size = Size::kWord;
  char letter = 0;
  bool is_integer() const { return std::strchr("diuoxX", letter) != nullptr; }
};

// Behind its letters, which `at` passes.
Size size_at(const std::string& format, std::size_t* at) {
  const std::size_t begin = *at;
  while (*at < format.size() && std::strchr("hlLjztq", format[*at]) != nullptr) ++*at;
  const std::string letters = format.substr(begin, *at - begin);
  if (letters.empty()) return Size::kWord;
  if (letters == "hh") return Size::kByte;
  if (letters == "h") return Size::kHalf;
  return letters == "l" || letters == "ll" ? Size::kLong : Size::kOther;
}

// Whether a width or a precision would make the C library work for long.
bool has_large_number(const std::string& flags) {
  std::size_t digits = 0;
  for (const char c : flags) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3) return true;
  }
  return false;
}

class Formatter {
public:
  Formatter(const ReadArgument& read, const ReadText& text) : read_(read), text_(text) {}

  std::string one(const Conversion& c) {
    const bool is_other = c.size == Size::kOther;
    if (is_other && !c.is_integer()) spoils(c.text);
    const std::string result = text_of(c);
    if (is_other && last_integer_ >> 32 != 0) spoils(c.text);
    if (is_other || (c.is_integer() && c.size == Size::kByte)) before_ = c.text;
    return result;
  }

  void spoils(const std::string& conversion) {
    if (unknown.empty()) unknown = conversion;
  }

  template <class T>
  T take() {
    if (!before_.empty()) spoils(before_);
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    read_(offset_, sizeof(T), &value);
    offset_ += sizeof(T);
    ++count;
    return value;
  }

  std::uint64_t count = 0;
  std::string unknown; // see format_text()

private:
  std::string text_of(Conversion c) {
    if (c.flags.size() > 40 || has_large_number(c.flags)) c.flags.clear();
    std::string form = "%" + c.flags;
    char out[512];
    switch (c.letter) {
    case 'd':
    case 'i': print(out, form + "lld", static_cast<long long>(signed_integer(c.size))); return out;
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      print(out, form + "ll" + c.letter, static_cast<unsigned long long>(integer(c.size)));
      return out;
    case 'c': print(out, form + "c", take<std::int32_t>()); return out;
    case 'p': print(out, form + "p", reinterpret_cast<void*>(take<std::uint64_t>())); return out;
    case 's': {
      const std::string text = text_(take<std::uint64_t>());
      std::string wide(text.size() + 512, 0);
      print_to(wide.data(), wide.size(), form + "s", text.c_str());
      return wide.c_str();
    }
    default: print(out, form + c.letter, take<double>()); return out;
    }
  }

  std::int64_t signed_integer(Size size) {
    switch (size) {
    case Size::kByte: return static_cast<std::int8_t>(take<std::int32_t>());
    case Size::kHalf: return static_cast<std::int16_t>(take<std::int32_t>());
    case Size::kWord: return take<std::int32_t>();
    case Size::kLong: return take<std::int64_t>();
    case Size::kOther: break;
    }
    last_integer_ = take<std::uint64_t>();
    return static_cast<std::uint32_t>(last_integer_);
  }
  std::uint64_t integer(Size size) {
    const auto value = static_cast<std::uint64_t>(signed_integer(size));
    switch (size) {
    case Size::kByte: return value & 0xff;
    case Size::kHalf: return value & 0xffff;
    case Size::kLong: return value;
    default: return value & 0xffffffff;
    }
  }

  template <class T>
  static void print_to(char* out, std::size_t size, const std::string& form, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (std::snprintf(out, size, form.c_str(), value) < 0) *out = 0;
#pragma GCC diagnostic pop
  }
  template <class T>
  static void print(char (&out)[512], const std::string& form, T value) {
    print_to(out, sizeof out, form, value);
  }

  const ReadArgument& read_;
  const ReadText& text_;
  std::uint64_t offset_ = 0;
  std::uint64_t last_integer_ = 0; // of a size that CUDA does not have
  std::string before_;             // a conversion behind which an H100 loses its place
};

} // namespace

std::string format_text(const std::string& format, const ReadArgument& read, const ReadText& text,
                        std::uint64_t* count, std::string* unknown) {
  Formatter formatter(read, text);
  std::string result;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      result += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      result += '%';
      ++i;
      continue;
    }
    Conversion c;
    bool has_precision_argument = false;
    std::size_t at = i + 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '*') {
        has_precision_argument |= format[at - 1] == '.';
        c.flags += std::to_string(formatter.take<std::int32_t>());
      } else if (std::strchr(kFlags, format[at]) != nullptr) c.flags += format[at];
      else break;
    }
    c.size = size_at(format, &at);
    if (at >= format.size() || std::strchr("diuoxXcpsfFeEgGaA", format[at]) == nullptr) {
      result += format[i]; // no conversion: as it stands
      continue;
    }
    c.letter = format[at];
    c.text = format.substr(i, at + 1 - i);
    if (has_precision_argument) formatter.spoils(c.text);
    result += formatter.one(c);
    i = at;
  }
  *count = formatter.count;
  if (unknown != nullptr && unknown->empty()) *unknown = formatter.unknown;
  return result;
}

} // namespace gmt::executor
