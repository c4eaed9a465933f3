// SPDX-License-Identifier: Apache-2.0
// What checks report of single mistakes, and what the code does then.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/rewriter/support/checked_world.h"

namespace gmt::rewriter {
namespace {

constexpr const char* kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

class Mistakes : public testing::Test {
protected:
  // A kernel k of pointers p and q, with p in %d1, q in %d2, the thread in %r1.
  void rewrite_kernel(const std::string& statements, Bounds bounds = Bounds::kNever,
                      std::uint64_t window = test::kWindow) {
    world_ = std::make_unique<test::World>(bounds);
    world_->options.window = window;
    world_->options.lowest_address = lowest_;
    rewritten_ = rewrite(
      std::string(kHead) + functions_ +
        ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n.reg .pred %p<9>; .reg .b32 %r<9>; "
        ".reg .b64 %d<20>; .reg .f32 %f<9>;\nld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n"
        "mov.u32 %r1, %tid.x;\n" +
        statements + "\nret;\n}\n",
      world_->options);
    ASSERT_EQ(rewritten_.kernels, std::vector<std::string>{"k"});
  }

  void run(std::uint64_t p, std::uint64_t q, std::uint32_t threads = 1) {
    std::string error;
    const std::string_view texts[] = {rewritten_.text};
    module_ = executor::Module::load(texts, &error);
    ASSERT_NE(module_, nullptr) << error;
    world_->add_variables(*module_);
    ASSERT_EQ(rewritten_.launch_parameters.size(), 1u);
    EXPECT_TRUE(rewritten_.launch_parameters[0].is_there);
    EXPECT_EQ(rewritten_.launch_parameters[0].index, 2u);
    EXPECT_EQ(rewritten_.launch_parameters[0].offset, 16u);
    const std::uint64_t parameters[] = {p, q, 77};
    executor::Launch launch;
    launch.module = module_.get();
    launch.kernel = module_->find_kernel("__gmt_checked_k");
    ASSERT_NE(launch.kernel, nullptr);
    launch.grid = {1};
    launch.block = {threads};
    launch.dynamic_shared_bytes = dynamic_bytes_;
    launch.parameters = std::as_bytes(std::span(parameters));
    launch.memory = &world_->memory;
    test::Listener listener;
    EXPECT_EQ(executor::run(launch, listener).end, executor::End::kDone);
    faults_ = 0;
    for (const executor::Report& report : listener.reports) {
      if (report.kind <= executor::ReportKind::kMisaligned) ++faults_;
    }
  }
  std::uint64_t count(std::size_t site, CountKind kind = kOutOfBoundsCount) {
    return world_->count(site, kind);
  }
  std::uint32_t word(std::uint64_t address) {
    std::uint32_t value = 0;
    std::memcpy(&value, world_->at(address), 4);
    return value;
  }
  void set_word(std::uint64_t address, std::uint32_t value) {
    std::memcpy(world_->at(address), &value, 4);
  }

  std::unique_ptr<test::World> world_;
  std::string functions_; // before the kernel
  std::uint32_t dynamic_bytes_ = 0;
  std::uint64_t lowest_ = test::kWindow;
  Rewritten rewritten_;
  std::unique_ptr<executor::Module> module_;
  std::size_t faults_ = 0; // accesses that the executor refused
};

TEST_F(Mistakes, ARecordSaysWhoDidWhat) {
  rewrite_kernel("mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; st.global.u32 [%d4], %r1;");
  const std::uint64_t p = world_->block(100);
  run(p, 0, 32);
  EXPECT_EQ(count(0), 7u); // words 25 to 31
  EXPECT_EQ(world_->used(), 7u);
  EXPECT_EQ(word(p + 96), 24u);
  const Record record = world_->record(0);
  EXPECT_EQ(record.site, 0u);
  EXPECT_EQ(record.address, p + 100);
  EXPECT_EQ(record.entry, 100);
  EXPECT_EQ(record.thread[0], 25u);
  EXPECT_EQ(record.is_misaligned, 0u);
  EXPECT_EQ(record.launch, 77u);
  ASSERT_EQ(rewritten_.sites.size(), 1u);
  EXPECT_EQ(rewritten_.sites[0].instruction, "st.global.u32 [%d4], %r1");
  EXPECT_EQ(rewritten_.sites[0].ptx_line, 10u);
  EXPECT_EQ(rewritten_.sites[0].kind, AccessKind::kStore);
}

// The number of the launch goes from function to function; a caller by a pointer has none to give.
TEST_F(Mistakes, FunctionsKnowTheLaunch) {
  functions_ =
    ".func f(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a]; st.u32 [%d1], 1; ret; }\n"
    ".func g { ret; }\n"
    ".func (.param .b32 r) h(.param .u64 a) {\n.reg .b64 %d<2>; ld.param.u64 %d1, [a];\n"
    "call g;\n{ .param .b64 x; st.param.b64 [x], %d1; call f, (x); }\n"
    "st.param.b32 [r], 1; ret; }\n"
    ".func by_pointer(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a];\n"
    "{ .param .b64 x; st.param.b64 [x], %d1; call f, (x); }\nst.u32 [%d1], 1; ret; }\n";
  rewrite_kernel("{ .param .b32 y; .param .b64 x; st.param.b64 [x], %d1; call (y), h, (x); }\n"
                 "p: .callprototype _ (.param .b64 _);\nmov.u64 %d3, by_pointer;\n"
                 "{ .param .b64 x; st.param.b64 [x], %d2; call %d3, (x), p; }");
  run(world_->block(100) + 100, world_->block(200) + 200);
  ASSERT_EQ(world_->used(), 3u);
  EXPECT_EQ(world_->record(0).launch, 77u); // f, by h
  EXPECT_EQ(world_->record(1).launch, 0u);  // f, by by_pointer
  EXPECT_EQ(world_->record(2).launch, 0u);  // by_pointer
}

TEST_F(Mistakes, OnlyTheFirstAreRecorded) {
  rewrite_kernel("ld.global.u32 %r2, [%d1];");
  run(world_->block(4) + 4, 0, 96);
  EXPECT_EQ(count(0), 96u);
  EXPECT_EQ(world_->used(), kRecordsOfSite);
}

TEST_F(Mistakes, ALoadThatIsLeftOutGivesZero) {
  rewrite_kernel("mov.u32 %r2, 5; mov.u32 %r3, 5; ld.global.v2.u32 {%r2, %r3}, [%d1];"
                 "st.global.v2.u32 [%d2], {%r2, %r3};");
  const std::uint64_t q = world_->block(8);
  set_word(q, 9);
  set_word(q + 4, 9);
  run(q + 100000, q);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(word(q), 0u);
  EXPECT_EQ(word(q + 4), 0u);
}

// In mapped memory it does what the plain kernel does.
TEST_F(Mistakes, AnAccessOfPoisonedMemoryIsMade) {
  rewrite_kernel("mov.u32 %r2, 5; st.global.u32 [%d1], %r2;");
  const std::uint64_t p = world_->block(512), q = world_->block(512);
  world_->set_entry(q, kFreedEntry);
  run(q, p);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(world_->record(0).entry, kFreedEntry);
  EXPECT_EQ(word(q), 5u);
}

TEST_F(Mistakes, MisalignedAccessesAreLeftOut) {
  rewrite_kernel("mov.u32 %r2, 5; st.global.u32 [%d1+2], %r2; st.global.u32 [%d1+4], %r2;");
  const std::uint64_t p = world_->block(64);
  run(p, 0);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(0, kMisalignedCount), 1u);
  EXPECT_EQ(count(1, kMisalignedCount), 0u);
  EXPECT_EQ(word(p), 0u);
  EXPECT_EQ(word(p + 4), 5u);
  EXPECT_EQ(world_->record(0).is_misaligned, 1u);
}

TEST_F(Mistakes, AGuardThatIsFalseMakesNoMistake) {
  rewrite_kernel("setp.eq.u32 %p1, %r1, 3; @%p1 st.global.u32 [%d1], %r1;"
                 "@!%p1 st.global.u32 [%d2], %r1;");
  const std::uint64_t q = world_->block(64);
  run(64, q, 8);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(world_->record(0).thread[0], 3u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(word(q), 7u);
}

// The range of a group has its mistake in one access: no other one is counted.
TEST_F(Mistakes, TheRightAccessOfAGroupIsNamed) {
  rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; ld.global.u32 %r4, [%d1+8];"
                 "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%d2], %r2;");
  const std::uint64_t p = world_->block(8), q = world_->block(4);
  set_word(p, 3);
  set_word(p + 4, 4);
  run(p, q);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2), 1u);
  EXPECT_EQ(count(3), 0u);
  EXPECT_EQ(word(q), 7u);
}

TEST_F(Mistakes, AccessesAcrossGranules) {
  rewrite_kernel("ld.global.u32 %r2, [%d1+508]; ld.global.u32 %r3, [%d1+512];"
                 "ld.global.u32 %r4, [%d1+1020]; ld.global.u32 %r5, [%d1+1024];");
  run(world_->block(1024), 0);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2), 0u);
  EXPECT_EQ(count(3), 1u);
}

// ---------------------------------------------------------------- shared and local memory

TEST_F(Mistakes, BehindAndBeforeASharedArray) {
  rewrite_kernel(".shared .align 4 .b8 a[64];\n.shared .align 4 .b8 b[128];\n"
                 "mov.u32 %r2, b; mad.lo.s32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;"
                 "ld.shared.u32 %r4, [%r3+-4]; st.shared.u32 [a+60], %r4;");
  ASSERT_EQ(rewritten_.sites.size(), 2u); // the last one is right for all to see
  EXPECT_EQ(rewritten_.sites[0].array, "b");
  run(0, 0, 34);
  EXPECT_EQ(count(0), 2u);
  EXPECT_EQ(count(1), 2u); // those of the threads 0 and 33
  ASSERT_EQ(world_->used(), 4u);
  Record record = world_->record(0);
  for (std::size_t i = 1; i < 4 && record.site != 0; ++i) record = world_->record(i);
  EXPECT_EQ(record.site, 0u);
  EXPECT_EQ(record.space, RecordSpace::kShared);
  EXPECT_EQ(record.is_misaligned, 0u);
  EXPECT_EQ(record.address, record.meant + 128);
  EXPECT_EQ(record.entry, 128);
  EXPECT_EQ(record.thread[0], 32u);
}

// Within the block's memory they do what they do in the plain kernel; behind it they are left out.
TEST_F(Mistakes, WhichSharedAccessesAreMade) {
  rewrite_kernel(".shared .align 16 .b8 a[16];\n.shared .align 16 .b8 b[16];\n"
                 "mov.u32 %r2, a; mov.u32 %r6, 5; mov.u32 %r7, 6; ld.global.u32 %r8, [%d2];\n"
                 "add.s32 %r4, %r2, %r8; st.shared.u32 [%r4], %r6; ld.shared.u32 %r7, [%r4];\n"
                 "st.global.u32 [%d1], %r7;");
  const std::uint64_t p = world_->block(4), q = world_->block(4);
  set_word(q, 32); // where the executor puts b
  run(p, q);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(word(p), 5u);
  set_word(q, 4096);
  run(p, q);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(word(p), 0u);
}

TEST_F(Mistakes, SharedMemoryThatTheLaunchGives) {
  functions_ = ".extern .shared .align 16 .b8 d[];\n";
  for (const std::uint32_t bytes : {0u, 3u, 4u, 128u, 1000u}) {
    dynamic_bytes_ = bytes;
    rewrite_kernel(".shared .align 4 .b8 a[64];\nst.shared.u32 [a], %r1; mov.u32 %r2, d;"
                   "shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1;"
                   "ld.shared.u32 %r5, [d+4];");
    ASSERT_EQ(rewritten_.sites.size(), 2u);
    run(0, 0, 64);
    EXPECT_EQ(count(0), 64 - std::min(64u, bytes / 4)) << bytes;
    EXPECT_EQ(count(1), bytes < 8 ? 64u : 0u) << bytes;
    if (bytes < 8) {
      EXPECT_EQ(world_->record(0).entry, static_cast<std::int32_t>(bytes));
    }
    EXPECT_EQ(faults_, 0u);
  }
}

TEST_F(Mistakes, ConstantsBehindAnArray) {
  rewrite_kernel(".shared .align 8 .b8 a[64];\nst.shared.u32 [a+64], %r1;"
                 "ld.shared.v2.u32 {%r2, %r3}, [a+56]; ld.shared.u32 %r4, [a+-4];");
  ASSERT_EQ(rewritten_.sites.size(), 2u);
  run(0, 0);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 1u);
}

TEST_F(Mistakes, MisalignedSharedAccesses) {
  rewrite_kernel(".shared .align 8 .b8 a[64];\nmov.u32 %r2, a; shl.b32 %r3, %r1, 2;"
                 "add.s32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1; mov.u32 %r5, 9;\n"
                 "ld.shared.v2.u32 {%r5, %r6}, [%r4]; st.global.u32 [%d1], %r5;");
  const std::uint64_t p = world_->block(4);
  run(p, 0, 2);
  EXPECT_EQ(count(0, kMisalignedCount), 0u);
  EXPECT_EQ(count(1, kMisalignedCount), 1u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(world_->record(0).space, RecordSpace::kShared);
  EXPECT_EQ(world_->record(0).is_misaligned, 1u);
}

// Where the array is not known the shared memory of the block is the bound.
TEST_F(Mistakes, SharedMemoryWithoutAnArray) {
  functions_ = ".func f(.param .u64 a, .param .u32 b) {\n.reg .b64 %d<2>; .reg .b32 %r<4>;"
               "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [b];\nst.u32 [%d1], %r1;"
               "ld.shared.u32 %r2, [%r1]; ld.shared.v2.u32 {%r2, %r3}, [%r1+8]; ret; }\n";
  dynamic_bytes_ = 64;
  rewrite_kernel(".shared .align 16 .b8 a[64];\nmov.u64 %d3, a; cvta.shared.u64 %d4, %d3;"
                 "add.s64 %d5, %d4, %d2; cvt.u32.u64 %r2, %d3; cvt.u32.u64 %r3, %d2;"
                 "add.s32 %r4, %r2, %r3;\n{ .param .b64 x; .param .b32 y; st.param.b64 [x], %d5;"
                 "st.param.b32 [y], %r4; call f, (x, y); }");
  ASSERT_EQ(rewritten_.sites.size(), 3u);
  const std::uint32_t end = 64 + 16 + 64; // as the executor puts them
  run(0, end - 16);
  for (std::size_t site = 0; site < 3; ++site) EXPECT_EQ(count(site), 0u);
  run(0, end - 4);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2, kMisalignedCount), 1u);
  run(0, end);
  for (std::size_t site = 0; site < 3; ++site) EXPECT_EQ(count(site), 1u);
  EXPECT_EQ(faults_, 0u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world_->record(i).space, RecordSpace::kShared);
    EXPECT_EQ(world_->record(i).address, end + (i == 2 ? 8 : 0));
    EXPECT_EQ(world_->record(i).entry, static_cast<std::int32_t>(end));
  }
}

// Another block's shared memory lies behind the own one in the generic space.
TEST_F(Mistakes, ClustersOfBlocks) {
  rewrite_kernel(".shared .align 16 .b8 a[64];\nmov.u64 %d3, a; cvta.shared.u64 %d4, %d3;"
                 "mapa.u64 %d5, %d4, 1; st.u32 [%d5], %r1; st.shared.u32 [%r1], %r1;");
  EXPECT_EQ(rewritten_.sites.size(), 1u);
  EXPECT_EQ(rewritten_.text.find("isspacep"), std::string::npos);
}

TEST_F(Mistakes, BehindAndBeforeALocalArray) {
  rewrite_kernel(".local .align 8 .b8 depot[64];\nmov.u64 %d3, depot; cvta.local.u64 %d4, %d3;"
                 "mul.wide.u32 %d5, %r1, 4; add.s64 %d6, %d3, %d5; st.local.u32 [%d6], %r1;"
                 "add.s64 %d7, %d4, %d5; mov.u32 %r2, 7; ld.u32 %r2, [%d7+-4]; st.u32 [%d1], %r2;"
                 "st.local.u32 [depot], %r1;");
  ASSERT_EQ(rewritten_.sites.size(), 3u);
  const std::uint64_t p = world_->block(4);
  run(p, 0, 17);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(2), 0u);
  EXPECT_EQ(faults_, 0u);
  const Record record = world_->record(0);
  EXPECT_EQ(record.space, RecordSpace::kLocal);
  EXPECT_EQ(record.address, record.meant + 64);
  EXPECT_EQ(record.entry, 64);
}

// The table knows nothing of the memory of variables.
TEST_F(Mistakes, BehindAndBeforeAVariable) {
  functions_ = ".visible .global .align 4 .b8 v[64];\n";
  rewrite_kernel("mov.u64 %d3, v; mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d3, %d4;"
                 "st.global.u32 [%d5], %r1; ld.u32 %r2, [%d5+-4]; st.global.u32 [v+60], %r1;");
  ASSERT_EQ(rewritten_.sites.size(), 2u);
  EXPECT_EQ(rewritten_.sites[0].array, "v");
  run(0, 0, 18);
  EXPECT_EQ(count(0), 2u);
  EXPECT_EQ(count(1), 2u); // those of the threads 0 and 17
  Record record = world_->record(0);
  for (std::size_t i = 1; i < 4 && record.site != 0; ++i) record = world_->record(i);
  EXPECT_EQ(record.space, RecordSpace::kVariable);
  EXPECT_EQ(record.meant, world_->variables["v"]);
  EXPECT_EQ(record.address, record.meant + 64);
  EXPECT_EQ(record.entry, 64);
}

TEST_F(Mistakes, GenericAddressesOfOtherSpacesAreNone) {
  rewrite_kernel(".shared .align 4 .b8 s[64]; .local .align 4 .b8 l[64];\n"
                 "mov.u64 %d3, s; cvta.shared.u64 %d3, %d3; st.u32 [%d3], %r1; ld.u32 %r2, [%d3];"
                 "mov.u64 %d4, l; cvta.local.u64 %d4, %d4; st.u32 [%d4], %r1; st.u32 [%d1], %r1;"
                 "st.u32 [%d2], %r1;");
  run(world_->block(4), 0);
  EXPECT_EQ(faults_, 0u);
  for (std::size_t site = 0; site < 4; ++site) EXPECT_EQ(count(site), 0u);
  EXPECT_EQ(count(4), 1u);
}

TEST_F(Mistakes, AddressesThatNoMemoryHas) {
  rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.u32 %r2, [%d2];");
  run(65532, 0x8000000000000000);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(faults_, 0u);
}

// Where the host says it is: at any multiple of 4 GiB.
TEST_F(Mistakes, TheWindowIsWhereTheHostSays) {
  for (const std::uint64_t window : {std::uint64_t{0}, test::kWindow - (std::uint64_t{3} << 32)}) {
    rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.u32 %r3, [%d2];", Bounds::kAlways, window);
    const std::uint64_t p = world_->block(5000), q = world_->block(64);
    run(p + 5000, q + 64);
    EXPECT_EQ(count(0), 1u);
    EXPECT_EQ(count(1), 1u);
    run(p, q + 60);
    EXPECT_EQ(count(0), 0u);
    EXPECT_EQ(count(1), 0u);
  }
}

// Addresses beside a window have the entries of others, which mean nothing for them.
TEST_F(Mistakes, WhatLiesOutsideTheWindowsIsRight) {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << (test::kWindowBits - 1);
  for (const Bounds bounds : {Bounds::kNever, Bounds::kAlways}) {
    for (const std::uint64_t window :
         {test::kWindow - 2 * kBytes, test::kWindow - kBytes, test::kWindow + (kBytes / 8)}) {
      rewrite_kernel("ld.u32 %r2, [%d1]; ld.global.u32 %r3, [%d2];", bounds, window);
      const std::uint64_t p = world_->block(64);
      run(p + 64, p + 64);
      EXPECT_EQ(count(0), 0u);
      EXPECT_EQ(count(1), 0u);
    }
  }
}

TEST_F(Mistakes, LowAddressesHaveAWindowOfTheirOwn) {
  lowest_ = 65536;
  for (const Bounds bounds : {Bounds::kNever, Bounds::kAlways}) {
    for (const std::uint64_t window : {std::uint64_t{0}, test::kWindow}) {
      rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.u32 %r3, [%d2]; st.global.u32 [%d2+-4], %r3;",
                     bounds, window);
      const std::uint64_t low = world_->low_block(1000), high = world_->block(1000);
      run(low + 996, high + 996);
      for (std::size_t site = 0; site < 3; ++site) EXPECT_EQ(count(site), 0u);
      run(low + 1000, low + 1000);
      EXPECT_EQ(count(0), 1u);
      EXPECT_EQ(count(1), 1u);
      EXPECT_EQ(count(2), 0u);
      EXPECT_EQ(world_->record(0).address, low + 1000);
      run(low + 1000, high + 1000);
      EXPECT_EQ(count(1), 1u);
      run(8, high);
      EXPECT_EQ(count(0), 1u); // no memory is there
      EXPECT_EQ(count(2), 1u); // before the block
    }
  }
}

// The table knows no difference between blocks; the bounds of a parameter do.
TEST_F(Mistakes, AStepIntoTheNeighbour) {
  for (const Bounds bounds : {Bounds::kNever, Bounds::kAlways}) {
    rewrite_kernel("add.s64 %d3, %d1, 8192; ld.global.u32 %r2, [%d3]; ld.global.u32 %r3, [%d1];"
                   "ld.global.u32 %r4, [%d1+-512];",
                   bounds);
    world_->block(4096, 0);
    const std::uint64_t p = world_->block(4096, 0);
    world_->block(8192, 0);
    run(p, 0);
    EXPECT_EQ(count(0), bounds == Bounds::kNever ? 0u : 1u);
    EXPECT_EQ(count(1), 0u);
    EXPECT_EQ(count(2), bounds == Bounds::kNever ? 1u : 1u);
    EXPECT_EQ(faults_, 0u);
  }
}

// Blocks whose entries have no room for a name are checked by the table.
TEST_F(Mistakes, PointersWithoutBounds) {
  rewrite_kernel("st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r1; st.global.u32 [%d2], %r1;",
                 Bounds::kAlways);
  const std::uint64_t small = world_->block(4), large = world_->block(5000);
  run(small, large + 4996);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(2), 0u);
  run(0, large + 5000);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(2), 1u);
}

// The loads of the indices are moved before the check of the second group.
TEST_F(Mistakes, GathersAreCheckedTogether) {
  rewrite_kernel(
    "ld.global.u32 %r2, [%d1]; mad.wide.u32 %d3, %r2, 4, %d2; ld.global.u32 %r3, [%d3];"
    "ld.global.u32 %r4, [%d1+4]; mad.wide.u32 %d4, %r4, 4, %d2; ld.global.u32 %r5, [%d4];"
    "add.u32 %r6, %r3, %r5; st.global.u32 [%d1], %r6;");
  const std::uint64_t p = world_->block(8), q = world_->block(400);
  set_word(p, 99);
  set_word(p + 4, 100);
  set_word(q + 396, 6);
  run(p, q);
  EXPECT_EQ(count(0), 0u); // in the order of the new code: p, p + 4, then what they lead to
  std::uint64_t all = 0;
  for (std::size_t site = 0; site < rewritten_.sites.size(); ++site) all += count(site);
  EXPECT_EQ(all, 1u);
  EXPECT_EQ(word(p), 6u);
}

TEST_F(Mistakes, RegistersOfInnerScopes) {
  rewrite_kernel("mov.u32 %r2, 1;\n{ .reg .b32 %r<3>; .reg .b64 t; add.s64 t, %d1, 4;"
                 " mov.u32 %r2, 8; st.global.u32 [t], %r2; }\n"
                 "{ .reg .b64 t; add.s64 t, %d1, 8; st.global.u32 [t], %r2; }");
  const std::uint64_t p = world_->block(8);
  run(p, 0);
  EXPECT_EQ(word(p + 4), 8u);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 1u);
}

// Where the host has a flag, it is set behind a mistake.
TEST_F(Mistakes, AMistakeSetsTheFlag) {
  for (const bool has_flag : {true, false}) {
    for (const bool is_mistake : {true, false}) {
      rewrite_kernel("st.global.u32 [%d1+" + std::string(is_mistake ? "400" : "396") + "], %r1;",
                     Bounds::kNever, 0);
      const std::uint64_t p = world_->block(400), q = world_->block(400);
      if (has_flag) world_->flag = world_->block(4);
      run(p, q);
      EXPECT_EQ(world_->word(world_->variables[std::string(kFlagged)]), has_flag && is_mistake);
      if (has_flag) {
        EXPECT_EQ(world_->word(world_->flag), is_mistake ? 1u : 0u);
      }
      EXPECT_EQ(world_->used(), is_mistake ? 1u : 0u);
    }
  }
}

} // namespace
} // namespace gmt::rewriter
