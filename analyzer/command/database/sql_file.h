// SPDX-License-Identifier: Apache-2.0
// A file of SQLite: made anew in one transaction, or read. What SQLite refuses is a UserError that
// names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gmt {

class SqlFile {
public:
  enum class Use : std::uint8_t { kMake, kRead }; // kMake: of an empty file
  SqlFile(const std::string& path, Use use);
  ~SqlFile();
  SqlFile(const SqlFile&) = delete;
  SqlFile& operator=(const SqlFile&) = delete;

  void run(const char* statements);
  // The first column of the first row; nothing if there is none.
  std::optional<std::string> first_text(const char* query);

private:
  friend class SqlInsert;
  [[noreturn]] void fail() const;

  std::string path_;
  sqlite3* handle_ = nullptr;
};

// Rows of one table: columns in their order, then done().
class SqlInsert {
public:
  SqlInsert(SqlFile& file, std::string_view table, int columns);
  ~SqlInsert();
  SqlInsert(const SqlInsert&) = delete;
  SqlInsert& operator=(const SqlInsert&) = delete;

  SqlInsert& null() {
    ++column_;
    return *this;
  }
  // What is above 2^63 wraps, as SQLite's integers have a sign.
  SqlInsert& number(std::uint64_t value);
  SqlInsert& number_or_null(std::uint64_t value) { return value == 0 ? null() : number(value); }
  SqlInsert& number(const std::optional<std::uint64_t>& value) {
    return value ? number(*value) : null();
  }
  // Bytes that are no UTF-8 become U+FFFD.
  SqlInsert& text(std::string_view value);
  SqlInsert& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  void done();

private:
  SqlInsert& plain_text(std::string_view value);

  static constexpr std::size_t kRoom = std::size_t{64} << 10;

  SqlFile& file_;
  sqlite3_stmt* statement_ = nullptr;
  // The texts of a row, as far as they fit: SQLite allocates memory for none of them.
  std::unique_ptr<char[]> texts_ = std::make_unique<char[]>(kRoom);
  std::size_t used_ = 0;
  int column_ = 0; // the last one that has its value
};

} // namespace gmt
