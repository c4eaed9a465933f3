# SPDX-License-Identifier: Apache-2.0
# The Debian package: `cpack -G DEB` makes it of what is installed. scripts/release calls it. Included by
# GpumemtraceInstall.cmake, behind all that installs.

set(CPACK_PACKAGE_NAME gpumemtrace)
set(CPACK_PACKAGE_VENDOR gpumemtrace)
set(CPACK_PACKAGE_CONTACT "the authors of gpumemtrace <gpumemtrace@localhost>") # Debian's tools want an address
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "says what is wrong with a CUDA program's memory")
set(CPACK_PACKAGE_DESCRIPTION "gpumemtrace runs any CUDA program, unchanged, and reports leaks, double frees, use of freed
memory, copies past the end and more, with the lines of the source. It needs no GPU:
a simulated device runs kernels and checks each of their accesses.")
set(CPACK_STRIP_FILES ON) # what was linked here; the unwinder is a file that others made
set(CPACK_THREADS 0)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT) # gpumemtrace_0.2.0_amd64.deb
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34)") # tests/install checks that no library needs more
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
