# SPDX-License-Identifier: Apache-2.0
"""How code is written here: one way where C++ allows several, and what the interposer's code must not call.

lint_code.py [unittest's arguments]. Exit status: 0 nothing found, 1 something."""

import os
import re
import unittest

from lint_rules import SOURCES, code_of, files, text_of


def code_of_with_ends(path):
    """Without comments, but for those that end a namespace."""
    return re.sub(r"(?<!\} )//[^\n]*", "", text_of(path))


class Dialect(unittest.TestCase):
    """One way to write what C++ allows in several."""

    FOLDERS = ("analyzer", "device_hooks", "interposer", "ptx", "ptxas", "rewriter", "simulated_cuda", "trace")
    BARE = re.compile(r"(?<![\w:.>])(?:size_t|u?int(?:8|16|32|64)_t|u?intptr_t|ptrdiff_t)\b")
    # Installed under another name than they have here, so they find each other by where they lie.
    INSTALLED = (
        "device_hooks/include/",
        "trace/device_ring.h",
        "trace/format.h",
        "trace/packed_words.h",
        "trace/record_words.h",
        "trace/vocabulary.h",
    )

    def test_no_nested_ternaries(self):
        nested = re.compile(
            r"\?[^?;{},()]*(\([^()]*\)[^?;{},()]*)*[^:?;{},()]:(?!:)[^:?;{},()]*(\([^()]*\)[^:?;{},()]*)*\?"
        )
        offenders = [
            f"{path}: {match.group(0)}"
            for path in files(
                "trace", "ptx", "ptxas", "rewriter", "interposer", "device_hooks", "analyzer", "simulated_cuda"
            )
            for match in nested.finditer(code_of(path))
        ]
        self.assertEqual(offenders, [], "an if, or a function of its own")

    def test_integers_are_of_std(self):
        sources = [path for path in files(*self.FOLDERS) if not path.endswith("/pool.h")]  # which is C, too
        found = [f"{path}: {word}" for path in sources for word in self.BARE.findall(code_of(path))]
        self.assertEqual(found, [], "std::size_t, std::uint64_t")

    def test_bare_integers_are_found(self):
        text = (
            "std::size_t a; size_t b; auto c = static_cast<uint8_t>(a.size_t); my_size_t d; ::intptr_t e; f(int64_t);"
        )
        self.assertEqual(self.BARE.findall(text), ["size_t", "uint8_t", "int64_t"])

    def test_includes_are_paths_from_the_root(self):
        quoted = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
        found = [
            f"{path}: {name}"
            for path in files(*self.FOLDERS)
            if not path.startswith(self.INSTALLED)
            for name in quoted.findall(text_of(path))
            if not os.path.exists(os.path.join(SOURCES, name))
        ]
        self.assertEqual(found, [], "a reader sees which file it is, and rules about rooms apply")


class Interposer(unittest.TestCase):
    WITH_LIBRARY = "interposer/kernel_checks/library/"  # uses the C++ library, and the rewriter throws

    def forbid(self, pattern, why, but=(), left_out=None):
        paths = [path for path in files("interposer") if path.endswith((".h", ".cpp"))]
        paths = [path for path in paths if left_out is None or not path.startswith(left_out)]
        self.assertGreater(len(paths), 20)
        offenders = [
            f"{path}: {match.group(0)}"
            for path in paths
            if os.path.basename(path) not in but
            for match in re.finditer(pattern, code_of(path))
        ]
        self.assertEqual(offenders, [], why)

    def test_no_public_dlsym(self):
        self.forbid(r"(?<![\w_])dlsym\s*\(", "real_dlsym() only: the public one is our own hook")

    def test_no_public_dlclose(self):
        self.forbid(r"(?<![\w_])dlclose\s*\(", "close_handle() only", but=("libc_process.cpp",))

    def test_no_heap_and_no_streams(self):
        self.forbid(
            r"(?<![\w_])(malloc|calloc|realloc|free|strdup|fopen|printf|fprintf)\s*\(|\bnew\s+\w+\s*[\[({;]"
            r"|\bstd::(string|vector|cout|cerr|mutex)\b",
            "the host's allocator and streams may be the very thing that is broken",
            but=("libc_free.cpp", "cupti.cpp"),
            left_out=self.WITH_LIBRARY,
        )  # which defines free(); which frees what CUPTI allocated

    def test_never_ends_the_process(self):
        self.forbid(r"(?<![\w_:])(abort|exit|raise|assert)\s*\(|\bthrow\b", "never end, stop or slow the host")
        self.forbid(r"\btry\b", "nothing throws in the core", left_out=self.WITH_LIBRARY)

    def test_words_of_records_have_names(self):
        self.forbid(
            r"\.(set|use|use_more)\(\d|\bw\[\d|\bwords\[\d|->a\[\d",
            "trace/records.def names them: AllocFields(r).address(p), AllocView(r).address(), r.use(AllocWord::kCount)",
        )

    def test_driver_functions_are_looked_up_in_one_way(self):
        self.forbid(
            r"\bdriver_symbol\s*\(",
            "DriverFunction of loader/driver_function.h",
            but=("driver_function.h", "driver_symbol.cpp", "driver.h"),
        )  # which declares it; which defines it; by which the collector reaches it

    def test_unit_tests_replace_no_function(self):
        """What they need otherwise they set: set_unwinder(), set_driver_look_up(), begin_collector(), session_parts."""
        for path in files("tests/unit/interposer"):
            own = re.sub(
                r"^namespace \{$.*?^\} // namespace$", "", code_of_with_ends(path), flags=re.DOTALL | re.MULTILINE
            )
            for line in own.splitlines():
                if re.match(r"\w.*\)( noexcept)?( \{|;)", line) and not line.startswith("TEST"):
                    self.fail(f"{path}: {line}")

    def test_plain_statements(self):
        self.forbid(r"\breturn [^;{}()<]*(\([^;{}()]*\)[^;{}()<]*)*, \w+;", "no comma returns")


if __name__ == "__main__":
    unittest.main()
