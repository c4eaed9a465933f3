# SPDX-License-Identifier: Apache-2.0
"""Names that meet when several sources are compiled at once."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])


def lint(root):
    return subprocess.run(
        [sys.executable, "-B", SOURCES / "scripts/lint_names.py", root], capture_output=True, text=True, check=False
    )


class Names(unittest.TestCase):
    def clashes(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(
                    folder, "analyzer/heap", name.replace("_h", ".h") if name.endswith("_h") else f"{name}.cpp"
                )
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"namespace gmt {{\n{textwrap.dedent(text)}\n}} // namespace gmt\n", encoding="utf-8")
            result = lint(folder)
            self.assertEqual(result.returncode, 1 if result.stdout else 0, result.stderr)
            return [line.split(": ")[1] for line in result.stdout.splitlines()]

    def test_what_meets(self):
        self.assertEqual(
            self.clashes(
                a="namespace {\nconstexpr int kMost = std::size_t{3} << 20;\nstruct Row { int a; };\nint f(int a) { return a; }\n"
                "enum class Way { kOne };\ntemplate <class T> struct Twice { T t; };\n}",
                b="namespace {\nconstexpr long kMost{4};\nstruct Row {};\nint f(int b) { return b; }\nenum class Way { kTwo };\n"
                "template <class T, class U> struct Twice {};\n}",
            ),
            [f"{name} is also a name of analyzer/heap/a.cpp" for name in ("kMost", "Row", "f", "Way", "Twice")],
        )

    def test_all_variables_of_one_declaration(self):
        self.assertEqual(
            self.clashes(
                a="namespace {\nconstexpr int kFirst = most(1, 2), kLast = 9;\nstd::map<int, long> rows, *others[2];\n}",
                b="namespace {\nconstexpr int kNext{1}, kLast{2};\nint others;\nlong rows;\nint f(int kFirst) { return 1; }\n}",
            ),
            [f"{name} is also a name of analyzer/heap/a.cpp" for name in ("kLast", "others", "rows")],
        )

    def test_variables_with_attributes(self):
        self.assertEqual(
            self.clashes(
                a='namespace {\nthread_local int depth __attribute__((tls_model("initial-exec"))) = 0;\n}',
                b='namespace {\nthread_local int mine __attribute__((tls_model("initial-exec"))) = 0;\nint depth;\n}',
            ),
            ["depth is also a name of analyzer/heap/a.cpp"],
        )

    def test_a_name_of_a_header(self):
        self.assertEqual(
            self.clashes(a="namespace {\nstruct Row {};\n}", rows_h="template <class T> class Row { T t; };"),
            ["Row is also a name of analyzer/heap/a.cpp"],
        )

    def test_what_may_stand_beside_each_other(self):
        a = """
            namespace {
            template <class... Args> struct Front<CUresult (*)(Args...)> { int a; };
            using Entry = Series::Entry;
            namespace fs = std::filesystem;
            struct Later;
            int f(int a) { return a; } // int f(long)
            const char* text = "struct Row {};";
            }
            int Row::member() const { int kMost = 3; return kMost; }
        """
        b = """
            namespace {
            template <class... Args> struct Back<CUresult (*)(Args...)> { int a; };
            using Entry = Series::Entry;
            namespace fs = std::filesystem;
            struct Later;
            int f(long a, int kMost = 2) { struct Row {}; return a + kMost; }
            }
            int Row::member() { return 1; }
        """
        self.assertEqual(self.clashes(a=a, b=b), [])

    def test_none_meet_here(self):
        result = lint(SOURCES)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)


if __name__ == "__main__":
    unittest.main()
