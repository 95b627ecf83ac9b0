# Toolchain file: builds for ARM64 on another machine, with Debian's cross compiler and its arm64 libraries beside our own.
#   cmake -S . -B build/arm64 -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake
# In a Debian of its own, because the libraries of both processors must be of one release:
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install -y --no-install-recommends cmake ninja-build gcc-aarch64-linux-gnu \
#       libc6-dev-arm64-cross pkg-config protobuf-compiler protobuf-c-compiler python3-protobuf dpkg-dev file rpm qemu-user-static \
#       $(deploy/setup.sh build --names | grep '^lib.*-dev$' | sed 's/$/:arm64/')
# ctest --test-dir build/arm64 -LE long --timeout 1200 runs the tests under qemu (doc/testing.md).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_STRIP ${triple}-strip)
# pkg-config names this machine's libraries unless it is told of the other's; Debian's wrapper is for just that.
set(PKG_CONFIG_EXECUTABLE /usr/bin/${triple}-pkg-config CACHE FILEPATH "")
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64 CACHE STRING "")
set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64 CACHE STRING "")
# ctest runs what it built under qemu's user mode, where it is installed.
find_program(QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
if(QEMU_AARCH64)
	set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64})
endif()
