# SPDX-License-Identifier: Apache-2.0
# What makes the result of `cmake --install` run from any folder, on any x86-64 Linux with glibc 2.34 or newer: a static
# command that finds everything else beside itself (../lib/gpumemtrace). Included last by the root CMakeLists.txt; the
# interposer and the simulated device install themselves. tests/install checks the result.

if(TARGET gpumemtrace)
  if(GPUMEMTRACE_STATIC_COMMAND AND NOT GPUMEMTRACE_SANITIZE)
    target_link_options(gpumemtrace PRIVATE -static -static-libgcc -static-libstdc++)
    # Without these, cmake goes back to shared libraries behind the last static one.
    set_target_properties(gpumemtrace PROPERTIES LINK_SEARCH_START_STATIC ON LINK_SEARCH_END_STATIC ON)
    include(ThirdParty)
    include(Relink)
  endif()
  install(TARGETS gpumemtrace RUNTIME DESTINATION bin)
endif()

install(FILES scripts/completion.bash DESTINATION share/bash-completion/completions RENAME gpumemtrace)
install(FILES README.md LICENSE trace/FORMAT.md DESTINATION share/doc/gpumemtrace)
install(DIRECTORY docs/ DESTINATION share/doc/gpumemtrace FILES_MATCHING PATTERN "*.md" PATTERN "*.json")
install(FILES docs/gpumemtrace.1 DESTINATION share/man/man1)
include(GpumemtracePackage)
