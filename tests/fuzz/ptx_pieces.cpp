// SPDX-License-Identifier: Apache-2.0
// Changes of text, which a parser must stand.
#include "tests/fuzz/ptx_pieces.h"

#include <algorithm>
#include <iterator>

namespace gmt::test {
namespace {

// What PTX is made of, and what parsers do not expect.
const char* const kWords[] = {"{",
                              "}",
                              "(",
                              ")",
                              "[",
                              "]",
                              ";",
                              ",",
                              ":",
                              "@%p1 ",
                              "+",
                              "-",
                              "|",
                              "!",
                              "_",
                              "0f3F800000",
                              "0d3FF0000000000000",
                              "0x",
                              "18446744073709551615",
                              "99999999999999999999",
                              ".reg .b32 %r<4294967295>;",
                              ".reg .v4 .f32 %v<3>;",
                              "%r1",
                              "%rd1",
                              "%tid.x",
                              "%envreg3",
                              ".align 8",
                              ".align 0",
                              ".param .b8 p[1099511627776]",
                              "generic(",
                              ".b8 x[][0] = {{1},2};",
                              ".loc 1 1 1, function_name $L, inlined_at 1 1 1\n",
                              "\nL: .branchtargets L, L;\n",
                              "\nP: .callprototype (.reg .u32 _) _ (.param .b8 _[4]);\n",
                              "call (%r1), %rd1, (1), P;",
                              "bra L;",
                              "/*",
                              "*/",
                              "//",
                              "\"",
                              ".section .debug_str {",
                              ".entry k() {",
                              ".alias a, b;",
                              ".extern .func f();",
                              ".version 9.0",
                              "\0",
                              "::",
                              ".",
                              "((((((((((",
                              "1/0"};

} // namespace

std::string damage(std::string input, Random& random) {
  for (std::uint64_t n = 1 + random() % 6; n > 0 && !input.empty(); --n) {
    const std::size_t at = random() % input.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 80, input.size() - at);
    switch (random() % 8) {
    case 0: input[at] = static_cast<char>(input[at] ^ (1 << random() % 8)); break;
    case 1: input[at] = static_cast<char>(random()); break;
    case 2:
    case 3: input.insert(at, kWords[random() % std::size(kWords)]); break;
    case 4: input.insert(random() % input.size(), input.substr(at, length)); break;
    case 5: input.replace(at, length, kWords[random() % std::size(kWords)]); break;
    case 6: { // a line less
      const std::size_t end = std::min(input.find('\n', at), input.size() - 1);
      input.erase(at, end - at + 1);
      break;
    }
    default: input.erase(at, length);
    }
  }
  return input;
}

std::string piece_of(const std::string& text, Random& random) {
  if (text.size() <= kLargestPiece) return text;
  const std::size_t head = text.find('\n', text.find(".address_size"));
  const std::size_t begin = text.find("\n.", random() % text.size());
  if (head == std::string::npos || begin == std::string::npos) return text.substr(0, kLargestPiece);
  std::string piece = text.substr(0, head + 1) + text.substr(begin + 1, kLargestPiece);
  const std::size_t end = piece.rfind("\n}"); // whole functions, if there are some
  return end == std::string::npos ? piece : piece.substr(0, end + 3);
}

} // namespace gmt::test
