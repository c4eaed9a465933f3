// SPDX-License-Identifier: Apache-2.0
// Several modules in one name space.
#include <gtest/gtest.h>

#include "ptx/syntax/link.h"
#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

bool built_in(std::string_view name) { return name == "vprintf"; }

Linked link(const std::vector<std::string>& texts) {
  std::vector<std::shared_ptr<const Module>> modules;
  for (const std::string& text : texts) {
    modules.push_back(std::make_shared<const Module>(parse_module(test::module_text(text))));
  }
  return Linked::link(std::move(modules), built_in);
}

std::string error_of_link(const std::vector<std::string>& texts) {
  try {
    link(texts);
  } catch (const LinkError& error) {
    return error.what();
  }
  return "";
}

TEST(PtxLink, ExternsFindTheirDefinitions) {
  const Linked linked = link({
    ".extern .global .u32 counter;\n.extern .func f();\n"
    ".visible .entry k() { .reg .u64 a; mov.u64 a, counter; call f; ret; }",
    ".visible .global .u32 counter = 7;\n.visible .func f() { ret; }",
  });
  EXPECT_EQ(linked.variables().size(), 1u);
  EXPECT_EQ(linked.functions().size(), 2u);
  EXPECT_EQ(linked.variable_of(0, 0), linked.variable_of(1, 0));
  const LinkedVariable& counter = linked.variables()[linked.variable_of(0, 0)];
  EXPECT_EQ(counter.module, 1u);
  EXPECT_EQ(counter.variable->initial.size(), 4u);
  const Module& first = linked.module(0);
  const Body body = parse_body(first, *first.find_function("k"));
  const Call call = call_of(body, body.instructions[1]);
  const LinkedFunction& f = linked.functions()[linked.function_of(0, call.target->id)];
  EXPECT_EQ(f.module, 1u);
  EXPECT_TRUE(f.function->has_body);
  EXPECT_FALSE(f.built_in || f.missing);
}

TEST(PtxLink, StaticNamesStayApart) {
  const std::string text = ".global .u32 own;\n.func helper() { ret; }\n";
  const Linked linked = link({text + ".visible .entry a() { call helper; ret; }",
                              text + ".entry b() { call helper; ret; }"});
  EXPECT_NE(linked.variable_of(0, 0), linked.variable_of(1, 0));
  EXPECT_NE(linked.function_of(0, 0), linked.function_of(1, 0));
  EXPECT_FALSE(linked.find("own").has_value());
  ASSERT_TRUE(linked.find("b").has_value());
  EXPECT_EQ(linked.find("b")->kind, SymbolKind::kFunction);
  EXPECT_EQ(linked.functions()[linked.find("b")->index].function->name, "b");
  EXPECT_EQ(linked.find(1, "own")->index, linked.variable_of(1, 0));
  EXPECT_EQ(linked.find(1, "a")->index, linked.find("a")->index);
}

TEST(PtxLink, WeakAndCommon) {
  const Linked linked = link({
    ".weak .func f() { ret; }\n.weak .global .u32 w = 1;\n.common .global .u32 c[2];\n.weak .global .u32 s = 1;",
    ".weak .func f() { exit; }\n.weak .global .u32 w = 2;\n.common .global .u32 c[8];\n.visible .global .u32 s = 2;",
  });
  EXPECT_EQ(linked.functions().size(), 1u);
  EXPECT_EQ(linked.functions()[0].module, 0u);
  EXPECT_EQ(linked.variables()[linked.find("w")->index].module, 0u);
  EXPECT_EQ(linked.variables()[linked.find("c")->index].variable->size, 32u);
  EXPECT_EQ(linked.variables()[linked.find("s")->index].module, 1u);
  EXPECT_EQ(linked.variable_of(0, 2), linked.variable_of(1, 2));
}

TEST(PtxLink, DynamicSharedMemoryIsOne) {
  const Linked linked =
    link({".extern .shared .align 4 .b8 s[];", ".extern .shared .align 16 .b8 s[];"});
  ASSERT_EQ(linked.variables().size(), 1u);
  EXPECT_EQ(linked.variables()[0].variable->alignment, 16u);
  EXPECT_FALSE(linked.variables()[0].missing);
}

TEST(PtxLink, BuiltInAndMissingNames) {
  const Linked linked =
    link({".extern .func vprintf();\n.extern .func unused();\n.extern .global .u32 v;\n"
          ".extern .func used_not();\n.entry k() { call vprintf; used_notquite: ret; }"});
  EXPECT_TRUE(linked.functions()[linked.find("vprintf")->index].built_in);
  EXPECT_TRUE(linked.functions()[linked.find("unused")->index].missing);
  EXPECT_TRUE(linked.functions()[linked.find("used_not")->index].missing);
  EXPECT_TRUE(linked.variables()[linked.find("v")->index].missing);
}

TEST(PtxLink, AKernelThatIsOnlyDeclared) {
  EXPECT_EQ(error_of_link({".entry k();\n.entry other() { ret; }"}),
            "no module defines the kernel 'k', which module 1 declares");
  EXPECT_EQ(error_of_link({".entry vprintf();"}),
            "no module defines the kernel 'vprintf', which module 1 declares");
  EXPECT_EQ(error_of_link({".entry k();", ".visible .entry k() { ret; }"}), "");
}

TEST(PtxLink, Aliases) {
  const Linked linked = link(
    {".visible .func name();\n.visible .func second();\n.func real() { ret; }\n.alias name, real;\n.alias second, name;",
     ".extern .func second();\n.entry k() { call second; ret; }"});
  EXPECT_EQ(linked.functions()[linked.find("name")->index].function->name, "real");
  EXPECT_EQ(linked.functions()[linked.function_of(1, 0)].function->name, "real");
  EXPECT_EQ(
    error_of_link({".func a();\n.func b();\n.alias a, b;\n.alias b, a;"}),
    "'a' is an alias of no function with a body; 'b' is an alias of no function with a body");
}

TEST(PtxLink, ErrorsNameAllOfIt) {
  EXPECT_EQ(
    error_of_link({".visible .func f() { ret; }\n.visible .global .u32 v;",
                   ".visible .func f() { ret; }\n.visible .global .u32 v;"}),
    "'v' is defined in module 1 and in module 2; 'f' is defined in module 1 and in module 2");
  EXPECT_EQ(error_of_link({".extern .func f();\n.extern .global .u32 v;\n.global .u64 a = v;\n"
                           ".entry k() { call f; ret; }"}),
            "no module defines the variable 'v', which module 1 uses; "
            "no module defines the function 'f', which module 1 uses");
  EXPECT_EQ(error_of_link({".visible .func x() { ret; }", ".visible .global .u32 x;"}),
            "'x' is a variable and a function, in module 1 and in module 2");
  EXPECT_NE(
    error_of_link({".extern .func x();\n.entry k() { call x; ret; }", ".visible .global .u32 x;"}),
    "");
}

} // namespace
} // namespace gmt::ptx
