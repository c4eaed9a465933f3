#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a CUDA program that records forms of mma, wmma and wgmma: h100.products, h100.wmma, h100.wgmma.

    make_program.py > record.cu
    nvcc -std=c++20 -I . -gencode arch=compute_90a,code=sm_90a record.cu -o record
    ./record products > h100.products        (wmma > h100.wmma, wgmma > h100.wgmma)

Each form is a kernel that loads registers or shared memory, executes it once and stores its result. A
form that faults is left out, and those behind it run in a process of their own. It is one file because it writes one
program, whose beginning and end all forms share.
"""

import re

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
BITS |= {"e4m3": 8, "e5m2": 8, "s32": 32}
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
HEAD = r"""#include "operands.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
using namespace gmt::matrices;
using Words = std::vector<std::uint32_t>;
using Kernel = void (*)(const void*, const void*, const void*, const void*, void*);
struct Form { const char *kind, *name, *a, *b, *c, *e; int words[5], cases, threads; Kernel kernel; };
"""
MAIN = r"""
// Words of A, B, C and E of a case, filled in this order; those of D.
static bool record(const Form& form) {
  Words in[4], out(std::size_t(form.cases) * form.words[4]);
  const char* const types[] = {form.a, form.b, form.c, form.e};
  for (int i = 0; i < form.cases; ++i) {
    Random random(form.name, i);
    for (int part = 0; part < 4; ++part) {
      const std::size_t at = in[part].size();
      in[part].resize(at + form.words[part]);
      const std::span<std::uint32_t> words(in[part].data() + at, form.words[part]);
      if (types[part][0] == 'm')
        for (std::uint32_t& word : words) word = metadata_of(types[part][1] == '2', random);
      else fill(words, types[part], static_cast<Spread>(i % 5), part == 2, random);
    }
  }
  if (std::string_view(form.kind) == "layouts") { // bits of each element's index
    const int bits = std::atoi(form.c), elements = form.words[0] * 32 / bits / form.cases;
    in[0].assign(form.words[0], 0);
    for (int plane = 0; plane < form.cases; ++plane)
      for (int e = 0; e < elements; ++e)
        if (plane == 10 || (e >> plane & 1) != 0) {
          const int bit = (plane * elements + e) * bits;
          in[0][bit / 32] |= 1u << bit % 32;
        }
  }
  void* memory[5];
  for (int i = 0; i < 5; ++i) {
    const Words& words = i < 4 ? in[i] : out;
    cudaMalloc(&memory[i], words.size() * 4 + 16);
    cudaMemcpy(memory[i], words.data(), words.size() * 4, cudaMemcpyHostToDevice);
  }
  cudaFuncSetAttribute(form.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 32768);
  form.kernel<<<form.cases, form.threads, form.threads == 128 ? 32768 : 0>>>(
    memory[0], memory[1], memory[2], memory[3], memory[4]);
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
  cudaMemcpy(out.data(), memory[4], out.size() * 4, cudaMemcpyDeviceToHost);
  for (void* each : memory) cudaFree(each);
  std::printf("%s", form.name);
  const std::size_t each = form.words[4];
  if (std::string_view(form.kind) == "layouts") {
    std::printf(" %d %zu %lx\n", form.words[1], each / 32, fingerprint(out));
    return true;
  }
  if (form.threads == 128) std::printf(" %zu %d", each / 128, form.cases);
  else std::printf(" %d %d %d %zu", form.words[0] / 32, form.words[1] / 32, form.words[2] / 32, each / 32);
  for (int i = 0; i < form.cases; ++i)
    std::printf(" %lx", fingerprint(std::span(out).subspan(i * each, each)));
  std::printf("\n");
  return true;
}
int main(int argc, char** argv) {
  for (const Form& form : kForms) {
    const std::string_view kind = argc > 1 ? argv[1] : "";
    if (kind != form.kind && !(kind == "wmma" && std::string_view(form.kind) == "layouts")) continue;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (!record(form)) std::fprintf(stderr, "%s: it faults\n", form.name);
      std::fflush(stdout);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}
"""


def sizes(shape):
    return tuple(map(int, re.findall(r"\d+", shape)))


def kind_of(register_type):
    return {"f64": ("d", "double"), "f32": ("f", "float")}.get(register_type, ("r", "unsigned"))


class Program:
    def __init__(self):
        self.kernels, self.rows = [], []

    def add(self, kind, name, types, words, cases, threads, body):
        kernel = f"k{len(self.rows)}"
        arguments = "const void* A, const void* B, const void* C, const void* E, void* D"
        self.kernels.append(
            f"__global__ void {kernel}({arguments}) {{\n  const int t = blockIdx.x, l = threadIdx.x;\n{body}}}"
        )
        texts = ", ".join(f'"{text}"' for text in (kind, name, *types))
        numbers = ", ".join(map(str, words))
        self.rows.append(f"  {{{texts}, {{{numbers}}}, {cases}, {threads}, {kernel}}},")

    def text(self):
        return "\n".join([HEAD, *self.kernels, "static const Form kForms[] = {", *self.rows, "};", MAIN])


class Assembly:
    """Operands of an asm statement, in the order of its text."""

    def __init__(self):
        self.count, self.outputs, self.inputs = 0, [], []

    def registers(self, name, count, constraint, is_output=False):
        numbers = [f"%{self.count + i}" for i in range(count)]
        self.count += count
        bound = [f'"{constraint}"({name}[{i}])' for i in range(count)]
        (self.outputs if is_output else self.inputs).extend(bound)
        return "{" + ", ".join(numbers) + "}"

    def value(self, name, constraint):
        self.inputs.append(f'"{constraint}"({name})')
        self.count += 1
        return f"%{self.count - 1}"

    def statement(self, text, clobber=""):
        return f'  asm volatile("{text}" : {", ".join(self.outputs)} : {", ".join(self.inputs)}{clobber});\n'


def add_mma(program, m, n, k, d, a, b, c, extra="", sparse=None):
    elements = m * (k if sparse is None else k // 2), n * k, m * n, m * n
    words = [count * BITS[t] // 32 for count, t in zip(elements, (a, b, c, d))]
    each = 2 if d == "f64" else 1
    name = "mma.sp::ordered_metadata" if sparse is not None else "mma"
    name += f".sync.aligned.m{m}n{n}k{k}.row.col"
    name += f".{d}.{a}.{b}.{c}{extra}" if a == "b1" else f"{extra}.{d}.{a}.{b}.{c}"
    body = ""
    for register, source, total, t in zip("abc", "ABC", words, (a, b, c)):
        word, count = kind_of(t)[1], total // 32 // each
        body += f"  {word} {register}[{count}];\n"
        body += f"  for (int i = 0; i < {count}; ++i) {register}[i] = ((const {word}*){source})[(t * {count} + i) * 32 + l];\n"
    result, count = kind_of(d), words[3] // 32 // each
    asm = Assembly()
    body += f"  {result[1]} d[{count}];\n"
    text = name + " " + asm.registers("d", count, "=" + result[0], True)
    for register, total, t in zip("abc", words, (a, b, c)):
        text += ", " + asm.registers(register, total // 32 // each, kind_of(t)[0])
    if sparse is not None:
        body += "  const unsigned e = ((const unsigned*)E)[t * 32 + l];\n"
        text += f", {asm.value('e', 'r')}, 0x{sparse:x}"
    body += asm.statement(text + ";")
    body += f"  for (int i = 0; i < {count}; ++i) (({result[1]}*)D)[(t * {count} + i) * 32 + l] = d[i];\n"
    meta = ("m2" if a == "tf32" else "m4") if sparse is not None else "s32"
    label = name if sparse is None else f"{name}/{sparse}"
    program.add(
        "products", label, (a, b, c, meta), (*words[:3], 32 if sparse is not None else 0, words[3]), 10, 32, body
    )


def all_mma(program):
    for k in (8, 16):
        for t in ("f16", "f32"):
            add_mma(program, 16, 8, k, t, "f16", "f16", t)
        add_mma(program, 16, 8, k, "f32", "bf16", "bf16", "f32")
    for k in (4, 8):
        add_mma(program, 16, 8, k, "f32", "tf32", "tf32", "f32")
    for m, k in ((8, 4), (16, 4), (16, 8), (16, 16)):
        add_mma(program, m, 8, k, "f64", "f64", "f64", "f64")
    for letters, shapes in (("8", ((8, 16), (16, 16), (16, 32))), ("4", ((8, 32), (16, 32), (16, 64)))):
        for m, k in shapes:
            for a in ("s", "u"):
                for b in ("s", "u"):
                    add_mma(program, m, 8, k, "s32", a + letters, b + letters, "s32")
            add_mma(program, m, 8, k, "s32", "s" + letters, "s" + letters, "s32", ".satfinite")
            if letters == "8":
                add_mma(program, m, 8, k, "s32", "u8", "s8", "s32", ".satfinite")
    for m, k in ((8, 128), (16, 128), (16, 256)):
        for operation in (".xor.popc", ".and.popc"):
            add_mma(program, m, 8, k, "s32", "b1", "b1", "s32", operation)
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            for t, k in (("f32", 32), ("f16", 32), ("f32", 16)):
                add_mma(program, 16, 8, k, t, a, b, t)
    for k, selectors in ((16, range(4)), (32, range(2))):
        for selector in selectors:
            add_mma(program, 16, 8, k, "f32", "f16", "f16", "f32", sparse=selector)
        add_mma(program, 16, 8, k, "f16", "f16", "f16", "f16", sparse=0)
        add_mma(program, 16, 8, k, "f32", "bf16", "bf16", "f32", sparse=0)
    for k, selectors in ((8, range(4)), (16, range(2))):
        for selector in selectors:
            add_mma(program, 16, 8, k, "f32", "tf32", "tf32", "f32", sparse=selector)
    for k, selectors in ((32, range(2)), (64, range(1))):
        for selector in selectors:
            add_mma(program, 16, 8, k, "s32", "s8", "s8", "s32", sparse=selector)
        add_mma(program, 16, 8, k, "s32", "u8", "s8", "s32", ".satfinite", sparse=0)
    for k, selectors in ((64, range(2)), (128, range(1))):
        for selector in selectors:
            add_mma(program, 16, 8, k, "s32", "s4", "u4", "s32", sparse=selector)
    for a, b in (("e4m3", "e5m2"), ("e5m2", "e4m3")):
        add_mma(program, 16, 8, 64, "f32", a, b, "f32", sparse=0)


def registers_of(shape, t, part):
    """Of a fragment of wmma."""
    if t == "f64" or shape.startswith("m8n8"):
        return 2 if part == "c" else 1
    if part == "c":
        return 4 if t == "f16" else 8
    if t == "f16":
        return 8
    square = 4 if t in ("bf16", "tf32") else 2
    if shape.startswith("m16"):
        return square
    return 2 * square if (part == "a") == shape.startswith("m32") else square // 2


def wmma_load(part, layout, shape, t, registers, address):
    m, n, k = sizes(shape)
    rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n)}[part]
    stride = columns if layout == "row" else rows
    return f"wmma.load.{part}.sync.aligned.{layout}.{shape}.global.{t} {registers}, [{address}], {stride};"


def add_layout(program, part, layout, shape, t):
    m, n, k = sizes(shape)
    elements = {"a": m * k, "b": k * n, "c": m * n}[part]
    constraint, word = kind_of(t)
    count, planes = registers_of(shape, t, part), 11
    asm = Assembly()
    text = wmma_load(part, layout, shape, t, asm.registers("d", count, "=" + constraint, True), "%" + str(count))
    asm.value("from", "l")
    body = f"  {word} d[{count}];\n  const char* const from = (const char*)A + t * {elements * BITS[t] // 8};\n"
    body += asm.statement(text)
    body += f"  for (int i = 0; i < {count}; ++i) (({word}*)D)[(t * {count} + i) * 32 + l] = d[i];\n"
    name = f"wmma.load.{part}.sync.aligned.{layout}.{shape}.global.{t}"
    words = planes * elements * BITS[t] // 32, elements, 0, 0, count * 32 * (2 if t == "f64" else 1)
    program.add("layouts", name, ("s32", "s32", str(BITS[t]), "s32"), words, planes, 32, body)


def add_wmma(program, shape, d, a, c, extra="", layouts=(("row", "col"),)):
    m, n, k = sizes(shape)
    for rows, columns in layouts:
        types = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{a}.{c}"
        operation, saturates = (extra, "") if a == "b1" else ("", extra)
        name = f"wmma.mma{operation}.sync.aligned.{rows}.{columns}.{shape}.{types}{saturates}"
        lists, text = {}, "{"
        for register, t, part in (("a", a, "a"), ("b", a, "b"), ("c", c, "c"), ("d", d, "c")):
            count = registers_of(shape, t, part)
            text += f".reg .{t if t in ('f64', 'f32') else 'b32'} {register}<{count}>; "
            lists[register] = "{" + ", ".join(f"{register}{i}" for i in range(count)) + "}"
        text += wmma_load("a", rows, shape, a, lists["a"], "%1") + wmma_load("b", columns, shape, a, lists["b"], "%2")
        text += wmma_load("c", "row", shape, c, lists["c"], "%3")
        text += f"{name} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};"
        text += f"wmma.store.d.sync.aligned.row.{shape}.global.{d} [%0], {lists['d']}, {n};" + "}"
        bits = m * n * BITS[d], m * k * BITS[a], k * n * BITS[a], m * n * BITS[c]
        asm = Assembly()
        for source, size in zip("DABC", bits):
            asm.value(f"(const char*){source} + t * {size // 8}", "l")
        words = bits[1] // 32, bits[2] // 32, bits[3] // 32, 0, bits[0] // 32
        program.add("wmma", name, (a, a, c, "s32"), words, 10, 32, asm.statement(text, ' : "memory"'))


def all_wmma(program):
    squares = ("m16n16k16", "m8n32k16", "m32n8k16")
    parts = [(shape, t) for shape in squares for t in ("f16", "bf16", "s8", "u8")]
    parts += [("m16n16k8", "tf32"), ("m8n8k4", "f64"), ("m8n8k32", "s4"), ("m8n8k32", "u4"), ("m8n8k128", "b1")]
    for shape, t in parts:
        for part, layout in (("a", "row"), ("a", "col"), ("b", "row"), ("b", "col")):
            if BITS[t] >= 8 or (part == "a") == (layout == "row"):
                add_layout(program, part, layout, shape, t)
    results = [(shape, t) for shape in squares for t in ("f16", "f32", "s32")]
    results += [("m16n16k8", "f32"), ("m8n8k4", "f64"), ("m8n8k32", "s32"), ("m8n8k128", "s32")]
    for shape, t in results:
        for layout in ("row", "col"):
            add_layout(program, "c", layout, shape, t)
    every = [(rows, columns) for rows in ("row", "col") for columns in ("row", "col")]
    for shape in squares:
        for d in ("f16", "f32"):
            for c in ("f16", "f32"):
                add_wmma(program, shape, d, "f16", c, "", every if d == c else every[1:2])
        add_wmma(program, shape, "f32", "bf16", "f32")
        add_wmma(program, shape, "s32", "s8", "s32")
        add_wmma(program, shape, "s32", "u8", "s32", ".satfinite")
    add_wmma(program, "m16n16k8", "f32", "tf32", "f32")
    add_wmma(program, "m8n8k4", "f64", "f64", "f64")
    for t in ("s4", "u4"):
        add_wmma(program, "m8n8k32", "s32", t, "s32")
    for operation in (".xor.popc", ".and.popc"):
        add_wmma(program, "m8n8k128", "s32", "b1", "s32", operation)


PLAIN = (0, 128, 256, 0, 0)  # rows are not mixed


def add_wgmma(
    program,
    n,
    d,
    a,
    b,
    extra="",
    in_registers=0,
    by_columns=(0, 0),
    signs=(1, 1),
    adds=1,
    layouts=(PLAIN, PLAIN),
    cases=5,
):
    """A layout: how rows are mixed, leading and other stride, where it begins, and its base offset."""
    count = n // 4 if d == "f16" else n // 2
    constraint, word = kind_of(d)
    form = f"wgmma.mma_async.sync.aligned.m64n{n}k{DEPTH[a]}.{d}.{a}.{b}{extra}"
    body = """  extern __shared__ __align__(1024) unsigned s[];
  for (int i = l; i < 4096; i += 128) {
    s[i] = ((const unsigned*)A)[t * 4096 + i];
    s[4096 + i] = ((const unsigned*)B)[t * 4096 + i];
  }
"""
    body += f"  {word} d[{count}];\n  unsigned r[4];\n"
    body += f"  for (int i = 0; i < {count}; ++i) d[i] = ((const {word}*)C)[(t * {count} + i) * 128 + l];\n"
    body += "  for (int i = 0; i < 4; ++i) r[i] = ((const unsigned*)E)[(t * 4 + i) * 128 + l];\n"
    for name, (mix, leading, stride, start, base), offset in zip("ab", layouts, (0, 16384)):
        body += (
            f"  const unsigned long long {name} = ((__cvta_generic_to_shared(s) + {offset + start}) >> 4 & 0x3fff) |\n"
        )
        body += f"    {leading >> 4}ull << 16 | {stride >> 4}ull << 32 | {base}ull << 49 | {mix}ull << 62;\n"
    body += '  asm volatile("fence.proxy.async;" ::: "memory");\n  __syncthreads();\n'
    body += '  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");\n'
    asm = Assembly()
    text = "{ .reg .pred p; setp.ne.b32 p, " + str(adds) + ", 0; " + form + " "
    text += asm.registers("d", count, "+" + constraint, True) + ", "
    text += asm.registers("r", 4, "r") if in_registers else asm.value("a", "l")
    text += f", {asm.value('b', 'l')}, p"
    if kind_of(a)[0] != "r" or a in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
        text += f", {signs[0]}, {signs[1]}"
    if a in ("f16", "bf16"):
        text += f", {by_columns[1]}" if in_registers else f", {by_columns[0]}, {by_columns[1]}"
    body += asm.statement(text + "; }") + "  (void)a;\n"
    body += '  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");\n'
    body += f"  for (int i = 0; i < {count}; ++i) (({word}*)D)[(t * {count} + i) * 128 + l] = d[i];\n"
    label = "/".join((form, f"{in_registers}{by_columns[0]}{by_columns[1]}", f"{signs[0]}{signs[1]}{adds}",
                      *("-".join(map(str, layout)) for layout in layouts)))  # fmt: skip
    program.add("wgmma", label, (a, b, d, a), (4096, 4096, count * 128, 512, count * 128), cases, 128, body)


def all_wgmma(program):
    for where in (0, 1):
        for d, t in (("f32", "f16"), ("f16", "f16"), ("f32", "bf16"), ("f32", "tf32"), ("s32", "s8")):
            add_wgmma(program, 8, d, t, t, in_registers=where)
        add_wgmma(program, 8, "s32", "u8", "s8", in_registers=where)
        add_wgmma(program, 8, "s32", "s8", "u8", ".satfinite", in_registers=where)
        add_wgmma(program, 8, "s32", "b1", "b1", ".and.popc", in_registers=where)
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            for d in ("f32", "f16"):
                add_wgmma(program, 8, d, a, b)
    add_wgmma(program, 8, "f32", "e4m3", "e4m3", in_registers=1)
    add_wgmma(program, 8, "f32", "f16", "f16", signs=(-1, 1))
    add_wgmma(program, 8, "f32", "f16", "f16", signs=(-1, -1))
    add_wgmma(program, 8, "f32", "f16", "f16", adds=0)
    add_wgmma(program, 8, "f32", "bf16", "bf16", in_registers=1, signs=(1, -1))
    add_wgmma(program, 8, "f32", "tf32", "tf32", signs=(-1, 1))
    add_wgmma(program, 8, "s32", "s8", "s8", adds=0)
    rows = {0: (0, 128, 256), 1: (1, 16, 1024), 2: (2, 16, 512), 3: (3, 16, 256)}
    for mix, starts in ((0, (0,)), (1, (0, 32, 64, 96)), (2, (0, 32)), (3, (0,))):
        for start in starts:
            add_wgmma(program, 64, "f32", "f16", "f16", layouts=((*rows[mix], start, 0),) * 2, cases=3)
    add_wgmma(program, 64, "f32", "f16", "f16", layouts=((0, 2048, 128, 0, 0),) * 2, cases=3)
    add_wgmma(program, 24, "s32", "s8", "s8", layouts=((*rows[1], 64, 0), (*rows[2], 32, 0)), cases=3)
    add_wgmma(program, 128, "f32", "bf16", "bf16", layouts=((*rows[1], 0, 0), (*rows[1], 96, 0)), cases=2)
    add_wgmma(program, 16, "f32", "tf32", "tf32", layouts=((*rows[1], 96, 0), (*rows[3], 0, 0)), cases=3)
    add_wgmma(program, 32, "f32", "e5m2", "e4m3", layouts=((*rows[1], 96, 0), (*rows[1], 32, 0)), cases=3)
    strides = ((1024, 2048), (2048, 1024), (512, 4096), (4096, 512), (256, 128), (128, 256))
    for mix in range(4):
        for leading, stride in strides:
            layout = (mix, leading, stride, 0, 0)
            add_wgmma(program, 64, "f32", "f16", "f16", by_columns=(1, 0), layouts=(layout, PLAIN), cases=2)
            add_wgmma(program, 128, "f32", "bf16", "bf16", by_columns=(0, 1), layouts=(PLAIN, layout), cases=2)
    for start in (256, 128):
        for base in range(3):
            add_wgmma(program, 64, "f32", "f16", "f16", layouts=((*rows[1], start, base), PLAIN), cases=2)


def main():
    program = Program()
    all_mma(program)
    all_wmma(program)
    all_wgmma(program)
    print(program.text())


if __name__ == "__main__":
    main()
