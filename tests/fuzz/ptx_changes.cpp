// SPDX-License-Identifier: Apache-2.0
// Changes of instructions that leave the text readable, so that they reach what executes it.
#include "tests/fuzz/ptx_pieces.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace gmt::test {
namespace {

const char* const kStatements[] = {
  "bar.sync 0;",
  "bar.sync 1, 64;",
  "barrier.sync 3;",
  "bar.arrive 2, 32;",
  "bar.red.popc.u32 %r1, 0, %p1;",
  "bar.warp.sync %r2;",
  "bar.warp.sync -1;",
  "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, %r4;",
  "vote.sync.ballot.b32 %r1, %p1, %r2;",
  "match.any.sync.b32 %r1, %r2, -1;",
  "redux.sync.add.s32 %r1, %r2, 15;",
  "activemask.b32 %r1;",
  "brx.idx %r1, L;",
  "exit;",
  "ret;",
  "trap;",
  "mbarrier.init.shared.b64 [%r1], %r2;",
  "mbarrier.arrive.shared::cta.b64 %rd1, [%r1], 2;",
  "mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;",
  "vabsdiff4.u32.s32.s32.add %r1, %r2, %r3, %r4;",
  "membar.gl;",
  "nanosleep.u32 %r1;",
  "st.local.v4.b32 [%r1], {%r1, %r2, %r3, %r4};",
  "ld.local.v2.b64 {%rd1, %rd2}, [%rd3];",
  "st.shared.b8 [%rd1], %r1;",
  "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5+16];",
  "ld.global.b128 %q1, [%rd1];",
  "st.b64 [%rd1+-8], %rd2;",
  "atom.shared.add.u32 %r1, [%r2], 1;",
  "atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;",
  "atom.add.noftz.f16 %rs1, [%rd2], %rs2;",
  "red.global.max.s64 [%rd1+4], %rd2;",
  "cvta.local.u64 %rd1, %rd2;",
  "cvta.to.shared.u64 %rd1, %rd2;",
  "cvta.param.u64 %rd1, %rd2;",
  "div.s32 %r1, %r2, %r3;",
  "rem.s64 %rd1, %rd2, -1;",
  "bfi.b64 %rd1, %rd2, %rd3, %r1, %r2;",
  "mov.u32 %r1, %clock;",
  "mov.b64 {%r1, %r2}, %rd1;",
  "lop3.b32 %r1, %r2, %r3, %r4, 0xE8;",
  "{ .param .b64 a, b; st.param.b64 [a], %rd1; call.uni (b), malloc, (a); }",
  "{ .param .b64 a, b; call.uni (b), malloc, (a); ld.param.b64 %rd2, [b]; }",
  "{ .param .b64 a; st.param.b64 [a], %rd1; call.uni free, (a); }",
  "{ .param .b32 a; .param .b32 b; call.uni (b), vprintf, (a, a); }",
};

const char* const kNumbers[] = {"0",
                                "1",
                                "-1",
                                "31",
                                "32",
                                "63",
                                "64",
                                "0x7fffffff",
                                "0x80000000",
                                "4294967295",
                                "281474976710656",
                                "0x7fffffffffffffff",
                                "-9223372036854775808",
                                "0f7F800000",
                                "0f7FC00000",
                                "0f00000001",
                                "0dFFF0000000000000"};

const char* const kModifiers[] = {
  ".u8",      ".s8",          ".b8",     ".u16",   ".s16",   ".b16",   ".u32",      ".s32", ".b32",
  ".u64",     ".s64",         ".b64",    ".b128",  ".f16",   ".f16x2", ".bf16",     ".f32", ".f64",
  ".pred",    ".global",      ".shared", ".local", ".param", ".const", ".volatile", ".v2",  ".v4",
  ".lo",      ".hi",          ".wide",   ".sat",   ".ftz",   ".rn",    ".rz",       ".cc",  ".sync",
  ".aligned", ".relaxed.gpu", ".popc",   ".red",   ".x2",    ".relu"};

bool is_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

// A text as lines; the numbers of those that are instructions.
class Lines {
public:
  explicit Lines(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      all.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t start = all[i].find_first_not_of(" \t");
      if (start == std::string::npos || all[i].back() != ';' || all[i][start] == '.') continue;
      instructions.push_back(i);
    }
  }
  std::string text() const {
    std::string joined;
    for (const std::string& line : all) joined += line + "\n";
    return joined;
  }
  std::string& any(Random& random) { return all[instructions[random() % instructions.size()]]; }

  std::vector<std::string> all;
  std::vector<std::size_t> instructions;
};

struct Span {
  std::size_t at = 0, size = 0;
};

// The names and numbers of an instruction: its guard and opcode first.
std::vector<Span> words_of(const std::string& line) {
  std::vector<Span> words;
  for (std::size_t at = 0; at < line.size();) {
    if (!is_name(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_name(line[end])) ++end;
    words.push_back({at, end - at});
    at = end;
  }
  return words;
}

// The opcode's number among the words; operands stand behind it.
std::size_t opcode_of(const std::string& line, const std::vector<Span>& words) {
  const bool guarded = line.find('@') != std::string::npos && words.size() > 1;
  return guarded ? 1 : 0;
}

std::string operand_from(const std::string& line, Random& random) {
  const std::vector<Span> words = words_of(line);
  const std::size_t first = words.empty() ? 0 : opcode_of(line, words) + 1;
  if (first >= words.size()) return "%r1";
  const Span& word = words[first + random() % (words.size() - first)];
  return line.substr(word.at, word.size);
}

void replace_operand(std::string* line, const std::string& by, Random& random) {
  const std::vector<Span> words = words_of(*line);
  const std::size_t first = words.empty() ? 0 : opcode_of(*line, words) + 1;
  if (first >= words.size()) return;
  const Span& word = words[first + random() % (words.size() - first)];
  line->replace(word.at, word.size, by);
}

void replace_opcode(std::string* line, const std::string& other) {
  const std::vector<Span> words = words_of(*line), others = words_of(other);
  if (words.empty() || others.empty()) return;
  const Span& from = others[opcode_of(other, others)];
  const Span& to = words[opcode_of(*line, words)];
  line->replace(to.at, to.size, other.substr(from.at, from.size));
}

void replace_modifier(std::string* line, Random& random) {
  const std::vector<Span> words = words_of(*line);
  if (words.empty()) return;
  const Span& opcode = words[opcode_of(*line, words)];
  std::vector<std::size_t> dots;
  for (std::size_t at = opcode.at; at < opcode.at + opcode.size; ++at) {
    if ((*line)[at] == '.') dots.push_back(at);
  }
  const char* by = kModifiers[random() % std::size(kModifiers)];
  const std::size_t which = random() % (dots.size() + 1);
  if (which == dots.size()) {
    line->insert(opcode.at + opcode.size, by);
    return;
  }
  const std::size_t end = which + 1 < dots.size() ? dots[which + 1] : opcode.at + opcode.size;
  line->replace(dots[which], end - dots[which], by);
}

void change_guard(std::string* line, Random& random) {
  const std::size_t at = line->find('@');
  if (at != std::string::npos) {
    line->erase(at, std::min(line->find_first_of(" \t", at), line->size() - 1) - at);
    return;
  }
  const std::size_t start = line->find_first_not_of(" \t");
  line->insert(start, random() % 2 == 0 ? "@%p1 " : "@!%p2 ");
}

} // namespace

std::string change_code(std::string input, Random& random) {
  Lines lines(input);
  if (lines.instructions.empty()) return input;
  for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
    std::string& line = lines.any(random);
    switch (random() % 10) {
    case 0:
    case 1: replace_operand(&line, operand_from(lines.any(random), random), random); break;
    case 2: replace_operand(&line, kNumbers[random() % std::size(kNumbers)], random); break;
    case 3: replace_opcode(&line, lines.any(random)); break;
    case 4: replace_modifier(&line, random); break;
    case 5: change_guard(&line, random); break;
    case 6: std::swap(line, lines.any(random)); break;
    case 7: line += "\n" + std::string(lines.any(random)); break;
    case 8: line += std::string("\n\t") + kStatements[random() % std::size(kStatements)]; break;
    default: line = "\tmov.u32 %r1, %r1;";
    }
  }
  return lines.text();
}

} // namespace gmt::test
