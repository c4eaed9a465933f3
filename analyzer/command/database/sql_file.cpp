// SPDX-License-Identifier: Apache-2.0
// A file that is made has no journal: until it is complete it is nothing.

#include "analyzer/command/database/sql_file.h"

#include <sqlite3.h>

#include <algorithm>

#include "analyzer/base/text_format.h"
#include "analyzer/base/user_error.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt {
namespace {

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

} // namespace

SqlFile::SqlFile(const std::string& path, Use use) : path_(path) {
  // One thread at a time uses it, so that it needs no lock a call.
  const int flags =
    SQLITE_OPEN_NOMUTEX | (use == Use::kMake ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  if (::sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    const std::string why = ::sqlite3_errmsg(handle_);
    ::sqlite3_close(handle_);
    throw UserError(cat({"cannot open the database '", path, "': ", why}),
                    ExitStatus::kUnreadableTrace);
  }
  if (use == Use::kMake) run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
}

SqlFile::~SqlFile() { ::sqlite3_close(handle_); }

void SqlFile::fail() const {
  throw UserError(cat({"the database '", path_, "': ", ::sqlite3_errmsg(handle_)}),
                  ExitStatus::kUnreadableTrace);
}

void SqlFile::run(const char* statements) {
  if (::sqlite3_exec(handle_, statements, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::optional<std::string> SqlFile::first_text(const char* query) {
  sqlite3_stmt* statement = nullptr;
  if (::sqlite3_prepare_v2(handle_, query, -1, &statement, nullptr) != SQLITE_OK) fail();
  std::optional<std::string> text;
  const int step = ::sqlite3_step(statement);
  if (step == SQLITE_ROW) {
    const unsigned char* bytes = ::sqlite3_column_text(statement, 0);
    const int size = ::sqlite3_column_bytes(statement, 0);
    if (bytes != nullptr) text.emplace(bytes, bytes + size);
  }
  ::sqlite3_finalize(statement);
  if (step != SQLITE_ROW && step != SQLITE_DONE) fail();
  return text;
}

SqlInsert::SqlInsert(SqlFile& file, std::string_view table, int columns) : file_(file) {
  std::string query = cat({"INSERT INTO ", table, " VALUES (?"});
  for (int i = 1; i < columns; ++i) query += ",?";
  query += ")";
  if (::sqlite3_prepare_v2(file.handle_, query.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
    file.fail();
}

SqlInsert::~SqlInsert() { ::sqlite3_finalize(statement_); }

SqlInsert& SqlInsert::number(std::uint64_t value) {
  ::sqlite3_bind_int64(statement_, ++column_, static_cast<sqlite3_int64>(value));
  return *this;
}

SqlInsert& SqlInsert::plain_text(std::string_view value) {
  ++column_;
  if (value.size() > kRoom - used_) {
    // NOLINTNEXTLINE: SQLite's own way to say that it is to copy the text
    ::sqlite3_bind_text64(statement_, column_, value.data(), value.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    return *this;
  }
  char* const own = texts_.get() + used_;
  std::ranges::copy(value, own);
  used_ += value.size();
  ::sqlite3_bind_text64(statement_, column_, own, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

SqlInsert& SqlInsert::text(std::string_view value) {
  if (!is_plain(value)) return plain_text(tools::clean_utf8(value));
  return plain_text(value);
}

void SqlInsert::done() {
  const int step = ::sqlite3_step(statement_);
  ::sqlite3_reset(statement_);
  ::sqlite3_clear_bindings(statement_);
  column_ = 0;
  used_ = 0;
  if (step != SQLITE_DONE) file_.fail();
}

} // namespace gmt
