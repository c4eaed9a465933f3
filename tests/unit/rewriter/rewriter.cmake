# SPDX-License-Identifier: Apache-2.0
# Unit tests of the rewriter of PTX: kernels run plain and with checks on the executor, and must give the same.
gmt_ptx_tests(unit_rewriter rewriter rewriter)
target_link_libraries(unit_rewriter PRIVATE executor)
if(GPUMEMTRACE_SANITIZE)
  target_compile_definitions(unit_rewriter PRIVATE GMT_DEFAULT_BOUNDS_ALONE) # each takes minutes then
endif()
