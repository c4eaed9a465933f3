// SPDX-License-Identifier: Apache-2.0
// Which text of an image is taken, and what is said where there is none.
#include "interposer/kernel_checks/library/images.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "made_up_cubin.h"
#include "ptx/fatbin/fatbin.h"

namespace gmt::interposer::kernel_checks {
namespace {

struct Entry {
  std::uint16_t kind;
  std::uint32_t architecture;
  std::string code;
  std::string options{};
  std::uint64_t flags = 0;
};

std::string container_of(const std::vector<Entry>& entries) {
  std::string all;
  for (const Entry& entry : entries) {
    ptx::FatbinEntryHeader header{};
    header.kind = entry.kind;
    const ptx::FatbinOptions options{sizeof header + sizeof options,
                                     static_cast<std::uint32_t>(entry.options.size())};
    header.header_bytes =
      static_cast<std::uint32_t>(sizeof header + sizeof options + entry.options.size());
    header.options_offset = sizeof header;
    header.bytes = entry.code.size();
    header.architecture = entry.architecture;
    header.flags = entry.flags;
    all.append(reinterpret_cast<const char*>(&header), sizeof header);
    all.append(reinterpret_cast<const char*>(&options), sizeof options);
    all += entry.options + entry.code;
  }
  const ptx::FatbinContainer head{ptx::kFatbinMagic, 1, sizeof head, all.size()};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + all;
}

TEST(KernelCheckImages, TheNewestTextThatTheDeviceCanTake) {
  const std::string container = container_of({{ptx::kFatbinPtx, 70, "old"},
                                              {ptx::kFatbinCubin, 90, "machine code"},
                                              {ptx::kFatbinPtx, 90, std::string("new\0\0", 5)},
                                              {ptx::kFatbinPtx, 100, "too new"}});
  EXPECT_EQ(text_of_image(container.data(), 90).ptx, "new");
  EXPECT_EQ(text_of_image(container.data(), 86).ptx, "old");
  EXPECT_NE(text_of_image(container.data(), 60).why_none, "");
  const ptx::FatbinWrapper wrapper{ptx::kFatbinWrapperMagic, 1, container.data(), nullptr};
  EXPECT_EQ(text_of_image(&wrapper, 100).ptx, "too new");
}

// nvcc -maxrregcount stands beside the text: without it a launch may need too many registers.
TEST(KernelCheckImages, MaxrregcountOfNvccIsKept) {
  const std::string text = ".version 8.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry k()\n{ ret; }\n"
                           ".visible .entry limited() .maxntid 64 { ret; }\n";
  const std::string container =
    container_of({{ptx::kFatbinPtx, 70, text, "-dlcm=cg  -maxrregcount=48 "}});
  const std::string found = text_of_image(container.data(), 90).ptx;
  EXPECT_NE(found.find(".entry k()\n .maxnreg 48 {"), std::string::npos) << found;
  EXPECT_EQ(found.find(".maxnreg"), found.rfind(".maxnreg"));
  const std::string none = container_of({{ptx::kFatbinPtx, 70, text, "-dlcm=cg "}});
  EXPECT_EQ(text_of_image(none.data(), 90).ptx, text);
}

// The program was launched with as many threads as its machine code allows, and is so with checks.
TEST(KernelCheckImages, ChecksLeaveTheThreadsOfTheMachineCode) {
  const std::string text = ".version 8.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry k()\n{ ret; }\n"
                           ".visible .entry other()\n{ ret; }\n";
  const std::string cubin = MadeUpCubin::of({{"k", 60}, {"other", 100}});
  const auto found = [&](const std::string& options) {
    const std::string container =
      container_of({{ptx::kFatbinPtx, 70, text, options}, {ptx::kFatbinCubin, 80, cubin}});
    return text_of_image(container.data(), 90).ptx;
  };
  EXPECT_NE(found("").find(".entry k()\n .maxnreg 64 {"), std::string::npos) << found("");
  EXPECT_NE(found("").find(".entry other()\n .maxnreg 128 {"), std::string::npos) << found("");
  const std::string limited = found("-maxrregcount=80 ");
  EXPECT_NE(limited.find(".entry k()\n .maxnreg 64 {"), std::string::npos) << limited;
  EXPECT_NE(limited.find(".entry other()\n .maxnreg 80 {"), std::string::npos) << limited;

  const std::string part = container_of({{ptx::kFatbinPtx, 70, text}});
  const std::string linked = container_of({{ptx::kFatbinCubin, 80, cubin}});
  const void* parts[] = {part.data(), nullptr};
  const ptx::FatbinWrapper wrapper{ptx::kFatbinWrapperMagic, 2, linked.data(), parts};
  const std::string joined = text_of_image(&wrapper, 90).ptx;
  EXPECT_NE(joined.find(".maxnreg 64"), std::string::npos) << joined;
}

// The driver would take sm_90a's machine code: PTX for other devices may do something else.
TEST(KernelCheckImages, CodeForOneArchitecture) {
  constexpr std::uint64_t kOne = ptx::kFatbinOneArchitecture;
  const std::vector<Entry> entries = {{ptx::kFatbinPtx, 80, "old"},
                                      {ptx::kFatbinCubin, 90, "machine code", "", kOne}};
  const std::string container = container_of(entries);
  EXPECT_NE(text_of_image(container.data(), 90).why_none.find("sm_90a"), std::string::npos);
  EXPECT_EQ(text_of_image(container.data(), 100).ptx, "old");
  std::vector<Entry> more = entries;
  more.push_back({ptx::kFatbinPtx, 90, "general"});
  more.push_back({ptx::kFatbinPtx, 90, "special", "", kOne});
  const std::string with_ptx = container_of(more);
  EXPECT_EQ(text_of_image(with_ptx.data(), 90).ptx, "special");
  EXPECT_EQ(text_of_image(with_ptx.data(), 100).ptx, "general");
}

// nvcc -rdc: the wrapper leads to a container for each file, and to one of the linked code.
TEST(KernelCheckImages, CodeThatIsLinkedFromSeveralFiles) {
  const std::string head = ".version 8.0\n.target sm_70\n.address_size 64\n";
  const std::string first = container_of(
    {{ptx::kFatbinPtx, 70, head + ".extern .global .u32 x;\n.visible .entry k() { ret; }\n"}});
  const std::string second =
    container_of({{ptx::kFatbinPtx, 70, head + ".visible .global .u32 x;\n"}});
  const std::string machine_code = container_of({{ptx::kFatbinCubin, 70, "code"}});
  const void* parts[] = {first.data(), second.data(), nullptr, nullptr};
  ptx::FatbinWrapper wrapper{ptx::kFatbinWrapperMagic, 2, machine_code.data(), parts};
  const std::string text = text_of_image(&wrapper, 90).ptx;
  EXPECT_NE(text.find(".entry k"), std::string::npos);
  EXPECT_NE(text.find(".visible .global .u32 x"), std::string::npos);
  EXPECT_EQ(text.find(".extern"), std::string::npos);

  parts[2] = machine_code.data();
  EXPECT_NE(text_of_image(&wrapper, 90).why_none.find("-rdc=true"), std::string::npos);
  parts[2] = first.data();
  EXPECT_NE(text_of_image(&wrapper, 90).why_none.find("k is there twice"), std::string::npos);
  wrapper.more = nullptr;
  EXPECT_NE(text_of_image(&wrapper, 90).why_none.find("-rdc=true"), std::string::npos);
}

TEST(KernelCheckImages, TextAndMachineCode) {
  EXPECT_EQ(text_of_image("// a\n.version 8.0\n", 90).ptx, "// a\n.version 8.0\n");
  EXPECT_NE(text_of_image("\x7f"
                          "ELF\2\1\1\0",
                          90)
              .why_none,
            "");
  EXPECT_NE(text_of_image("// nothing of PTX\n", 90).why_none, "");
}

TEST(KernelCheckImages, TheLibraryThatHoldsAnImageIsNamed) {
  static const char of_program[] = ".version 8.0\n";
  const std::string allocated = of_program;
  EXPECT_EQ(library_of_image(of_program), "");
  EXPECT_EQ(library_of_image(allocated.c_str()), "");
  const ptx::FatbinWrapper wrapper{ptx::kFatbinWrapperMagic, 1, strerror(0), nullptr};
  EXPECT_EQ(library_of_image(&wrapper).substr(0, 5), "libc.");
  EXPECT_TRUE(is_of_vendor("libcublasLt.so.13"));
  EXPECT_FALSE(is_of_vendor("libcu.so"));
  EXPECT_FALSE(is_of_vendor(""));
}

} // namespace
} // namespace gmt::interposer::kernel_checks
