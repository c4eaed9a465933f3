// SPDX-License-Identifier: Apache-2.0
// Trace directories: what is read from their text files, and the words for everything that can be
// wrong with one.

#include <unistd.h>

#include "analyzer/base/user_error.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/facts/name_table.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

namespace fs = std::filesystem;

class Traces : public testing::Test {
protected:
  fs::path path() const { return directory.path() / "trace"; }
  std::string error(const fs::path& trace) const {
    const Expected<TraceDir> opened = open_trace(trace);
    if (opened) return "none";
    EXPECT_EQ(opened.error().status(), ExitStatus::kUnreadableTrace);
    return opened.error().what();
  }
  void expect_error(const fs::path& trace, const std::string& part) const {
    EXPECT_NE(error(trace).find(part), std::string::npos) << error(trace);
  }
  TemporaryDirectory directory;
  TraceWriter writer;
};

TEST_F(Traces, TextFiles) {
  writer.info = {"arg.1=a b\\nc",          "arg.0=./app",     "argc=2",
                 "driver=13000",           "realtime_ns=17",  "stack_depth=25",
                 "option.launch-stacks=1", "some.later.key=1"};
  writer.modules = {"+\t5\t400000\t500000\t400000\tabcd\t/bin/app",
                    "+\t6\t700000\t800000\t0\t-\t/lib/a\\tb.so", "-\t9\t700000",
                    "?\tof a later minor"};
  writer.api("cuMemAlloc_v2");
  writer.complete = "how=signalled\nstatus=0\nsignal=11\ncore=1\ntsc=5\nmonotonic_ns=6\n";
  writer.write(path());
  const TraceDir trace = open_trace(path()).value();
  EXPECT_EQ(trace.info.major, 1u);
  EXPECT_EQ(trace.info.pid, 4242u);
  EXPECT_EQ(trace.info.arguments, (std::vector<std::string>{"./app", "a b\nc"}));
  EXPECT_EQ(trace.info.driver_version, "13.0");
  EXPECT_EQ(trace.info.options.at("launch-stacks"), "1");
  EXPECT_EQ(trace.info.stack_depth, 25u);
  ASSERT_EQ(trace.modules.size(), 2u);
  EXPECT_EQ(trace.modules[0].build_id, "abcd");
  EXPECT_EQ(trace.modules[0].unloaded, UINT64_MAX);
  EXPECT_EQ(trace.modules[1].path, "/lib/a\tb.so");
  EXPECT_EQ(trace.modules[1].unloaded, 9u);
  EXPECT_EQ(trace.damaged_lines, 1u);
  EXPECT_EQ(NameTable(trace.apis).symbol(0), "cuMemAlloc_v2");
  EXPECT_EQ(NameTable(trace.apis).symbol(1), "?");
  EXPECT_EQ(NameTable(trace.apis).api_name(0), "cuMemAlloc");
  ASSERT_TRUE(trace.completion);
  EXPECT_EQ(trace.completion->ending.signal, 11);
  EXPECT_TRUE(trace.completion->core_dumped);
}

TEST_F(Traces, InfoIsReadOnceAndPassedOn) {
  writer.info = {"run=a\\\\b\\tc", "realtime_ns=17", "exe=/bin/a\\nb", "no equals sign"};
  writer.write(path());
  TraceHead head = read_head(path());
  EXPECT_EQ(head.info.run, "a\\b\tc");
  EXPECT_EQ(head.info.realtime_ns, 17u);
  EXPECT_EQ(head.info.pid, 4242u);
  EXPECT_EQ(head.info.executable, "/bin/a\nb");
  write_file(path() / "info", "format=9.9\nrun=other\n"); // not looked at again
  const TraceDir trace = open_trace(std::move(head)).value();
  EXPECT_EQ(trace.info.run, "a\\b\tc");
  EXPECT_EQ(trace.damaged_lines, 1u);
  EXPECT_EQ(read_head(directory.path() / "absent").info.run, "");
}

TEST_F(Traces, WhatCannotBeOpenedThrowsWhereItsValueIsAskedFor) {
  EXPECT_THROW(open_trace(directory.path() / "absent").value(), UserError);
  EXPECT_THROW(analyze(directory.path() / "absent"), UserError);
}

TEST_F(Traces, DamagedLinesAreCounted) {
  writer.info = {"no equals sign", "ppid=many", "arg.x=1", "arg.99999999999=1", "driver="};
  writer.modules = {"+\tzz\t1\t2\t0\t-\t/a", "+\t1\t5\t4\t0\t-\t/a", "-\t1\t77", "+\t1"};
  writer.write(path());
  EXPECT_EQ(open_trace(path()).value().damaged_lines, 9u);
}

TEST_F(Traces, WrongPathsInWords) {
  expect_error(directory.path() / "nothing", "no such trace: ");
  write_file(directory.path() / "file", "x");
  expect_error(directory.path() / "file", "is no trace");
  fs::create_directory(directory.path() / "empty");
  expect_error(directory.path() / "empty", "is not a trace: it has no file 'info'");
  writer.write(directory.path() / "runs" / "gpumemtrace.app.box.1");
  expect_error(directory.path() / "runs", "holds traces; pass them, for example ");
}

TEST_F(Traces, OtherMajorsByName) {
  writer.format = "2.3";
  writer.write(path());
  expect_error(
    path(),
    "has format 2.3, written by gpumemtrace 0.1.0; this version reads format 1.x: use the version "
    "that wrote it or a newer one");
  writer.format = "0.9";
  writer.write(path());
  expect_error(path(), "names no format");
  writer.format = "one";
  writer.write(path());
  expect_error(path(), "names no format");
  writer.format = "1.7"; // a later minor
  writer.write(path());
  EXPECT_EQ(error(path()), "none");
}

TEST_F(Traces, NoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  writer.write(path());
  fs::permissions(path() / "info", fs::perms::none);
  expect_error(path(), "Permission denied");
  fs::permissions(path(), fs::perms::none);
  expect_error(path(), "Permission denied");
  fs::permissions(path(), fs::perms::owner_all);
}

TEST_F(Traces, WithoutLogsIsValidAndSaysSo) {
  writer.write(path());
  const Analysis analysis = analyze(path());
  EXPECT_EQ(analysis.process.totals.events, 0u);
  ASSERT_EQ(analysis.not_checked.size(), 1u);
  EXPECT_NE(analysis.not_checked[0].why.find("holds no log"), std::string::npos);
}

TEST_F(Traces, WithoutCallsSaysSo) {
  writer.log();
  writer.write(path());
  const Analysis analysis = analyze(path());
  ASSERT_EQ(analysis.not_checked.size(), 1u);
  EXPECT_EQ(analysis.not_checked[0].why, "the trace holds no CUDA call");
}

TEST_F(Traces, DumpSeesEveryRecordInOrder) {
  writer.log(0).alloc({.api = "cuMemAlloc_v2", .order = 3}, trace::MemoryKind::kDevice, 0x10, 1);
  writer.log(1).alloc({.api = "cuMemAlloc_v2", .order = 1}, trace::MemoryKind::kDevice, 0x20, 1);
  writer.log(1).record(trace::Kind::kName, {}, {0xf, 5, 0x6c656e72656bULL}); // "kerne" of "kernel"
  writer.log(1).alloc({.api = "cuMemAlloc_v2", .order = 4}, trace::MemoryKind::kDevice, 0x40, 1);
  writer.write(path());
  EventStream stream(open_trace(path()).value());
  NameTable names(stream.trace().apis);
  std::string orders;
  while (const Event* e = stream.next()) {
    names.follow(*e);
    orders += std::to_string(e->order);
    orders += e->kind == EventKind::kName ? "n " : e->kind == EventKind::kExit ? "e " : " ";
  }
  EXPECT_EQ(orders, "0e 1 1n 3 4 ");
  EXPECT_EQ(names.handle_name(0xf), "kerne");
  EXPECT_EQ(names.handle_name(0xe), "");
  EXPECT_EQ(stream.next(), nullptr);
}

} // namespace
} // namespace gmt::test
