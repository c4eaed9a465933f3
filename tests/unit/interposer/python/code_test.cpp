// SPDX-License-Identifier: Apache-2.0
// What is read of a code object: lines by its location table, names as UTF-8, its identity.
#include "interposer/python/code.h"

#include <gtest/gtest.h>

#include "tests/unit/interposer/python/made_up_python.h"

namespace gmt::interposer::python {
namespace {

// The first byte of an entry of the location table.
char entry(unsigned form, unsigned units) {
  return static_cast<char>(0x80 | form << 3 | (units - 1));
}

class PythonCode : public testing::Test {
protected:
  std::uint32_t line_at(const char* code, std::size_t unit) {
    return line_of(made_up_.python, code, made_up_.instruction(code, unit));
  }
  std::string name(char* text, std::size_t room = 100) {
    std::string buffer(room, '#');
    buffer.resize(name_of(made_up_.python, with(text, text), buffer.data(), room));
    return buffer;
  }
  std::string file(char* text, std::size_t room) {
    std::string buffer(room, '#');
    buffer.resize(file_of(made_up_.python, with(text, text), buffer.data(), room));
    return buffer;
  }
  char* with(char* file, char* name, std::uint32_t version = 0) {
    return made_up_.code(file, name, 10, "", 4, version);
  }
  MadeUpPython made_up_{kLayout313};
};

TEST_F(PythonCode, LinesOfEveryFormOfEntry) {
  const std::string lines = {
    entry(11, 2), 0x01, 0x02,       // one line on; columns
    entry(13, 1), 10,               // no columns: 5 lines on
    entry(15, 1),                   // no line
    entry(14, 8), 13,   1,    2, 3, // long: 6 lines back, an end line and columns
    entry(0, 1),  0x11,             // short: the same line
    entry(13, 1), 0x48, 3,          // 100 lines on, in two bytes
  };
  const char* code = made_up_.code(made_up_.ascii("f"), made_up_.ascii("n"), 10, lines, 20);
  const std::uint32_t expected[] = {11, 11, 16, 0, 10, 10, 10, 10, 10, 10, 10, 10, 10, 110};
  for (std::size_t unit = 0; unit < std::size(expected); ++unit)
    EXPECT_EQ(line_at(code, unit), expected[unit]) << unit;
  EXPECT_EQ(line_at(code, 14), 0u) << "behind the table";
  EXPECT_EQ(line_of(made_up_.python, code, code), 10u) << "in front of the first instruction";
  EXPECT_EQ(first_line_of(made_up_.python, code), 10u);
}

TEST_F(PythonCode, ATableThatEndsEarlyOrIsNoneIsNotReadPast) {
  const char* cut =
    made_up_.code(made_up_.ascii("f"), made_up_.ascii("n"), 10, {entry(14, 2), 0x40}, 4);
  EXPECT_EQ(line_at(cut, 0), 10u);
  EXPECT_EQ(line_at(cut, 2), 0u);
  char* none = with(made_up_.ascii("f"), made_up_.ascii("n"));
  made_up_.put(none, made_up_.python.layout.linetable, made_up_.ascii("text"));
  EXPECT_EQ(line_at(none, 0), 10u);
  made_up_.put(none, made_up_.python.layout.first_line, std::int32_t{-1});
  EXPECT_EQ(first_line_of(made_up_.python, none), 0u);
}

TEST_F(PythonCode, NamesAreUtf8) {
  EXPECT_EQ(name(made_up_.ascii("Model.step")), "Model.step");
  EXPECT_EQ(name(made_up_.wide<std::uint8_t>({'a', 0xe9})), "a\xc3\xa9");
  EXPECT_EQ(name(made_up_.wide<std::uint16_t>({0x3bb, 'x', 0xd83d})), "\xce\xbbx?");
  EXPECT_EQ(name(made_up_.wide<std::uint32_t>({0x1f600, 0x20ac})), "\xf0\x9f\x98\x80\xe2\x82\xac");
  EXPECT_EQ(name(made_up_.ascii("")), "");
}

TEST_F(PythonCode, NamesAreCutBetweenCharacters) {
  EXPECT_EQ(name(made_up_.wide<std::uint16_t>({0x3bb, 0x3bb, 0x3bb}), 5), "\xce\xbb\xce\xbb");
  EXPECT_EQ(name(made_up_.ascii("abcdef"), 3), "abc");
}

TEST_F(PythonCode, OfAFilesNameTheEndIsKept) {
  EXPECT_EQ(file(made_up_.ascii("/srv/app/train.py"), 100), "/srv/app/train.py");
  EXPECT_EQ(file(made_up_.ascii("/srv/app/train.py"), 12), ".py");
  EXPECT_EQ(file(made_up_.wide<std::uint16_t>({'/', 0x3bb, '.', 'p', 'y'}), 12), ".py");
}

TEST_F(PythonCode, WhatIsNoTextHasNoName) {
  char* text = made_up_.ascii("name");
  made_up_.put(text, kObjectType, made_up_.python.bytes_type);
  EXPECT_EQ(name(text), "");
  char* legacy = made_up_.ascii("name"); // not compact
  made_up_.put(legacy, kTextState, std::uint32_t{1 << 2 | 1 << 6});
  EXPECT_EQ(name(legacy), "");
}

TEST_F(PythonCode, AnObjectThatTakesAnAddressAnewHasAnotherKey) {
  char* code = with(made_up_.ascii("f"), made_up_.ascii("n"), 7);
  const std::uint64_t before = code_key(made_up_.python, code);
  EXPECT_EQ(code_key(made_up_.python, code), before);
  made_up_.put(code, made_up_.python.layout.version, std::uint32_t{8});
  EXPECT_NE(code_key(made_up_.python, code), before);
  // Without a version the names and the first line tell
  made_up_.put(code, made_up_.python.layout.version, std::uint32_t{0});
  const std::uint64_t named = code_key(made_up_.python, code);
  made_up_.put(code, made_up_.python.layout.first_line, std::int32_t{11});
  EXPECT_NE(code_key(made_up_.python, code), named);
  made_up_.put(code, made_up_.python.layout.first_line, std::int32_t{10});
  made_up_.put(code, made_up_.python.layout.qualname, made_up_.ascii("m"));
  EXPECT_NE(code_key(made_up_.python, code), named);
}

TEST_F(PythonCode, TextsThatDifferAnywhereHaveOtherKeys) {
  const Layout& l = made_up_.python.layout;
  for (const std::size_t length : {1u, 7u, 8u, 12u, 16u}) {
    const std::string characters(length, 'x');
    char* text = made_up_.ascii(characters);
    const std::uint64_t key = text_key(l, text);
    for (std::size_t at = 0; at < length; ++at) {
      text[l.ascii_data + at] = 'y';
      EXPECT_NE(text_key(l, text), key) << length << " " << at;
      text[l.ascii_data + at] = 'x';
    }
    EXPECT_EQ(text_key(l, text), key);
  }
}

} // namespace
} // namespace gmt::interposer::python
