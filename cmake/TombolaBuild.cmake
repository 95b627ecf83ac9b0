# How every target of the tree is compiled, and the three shapes a target may have.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Release)
endif()

set(TOMBOLA_SANITIZE "" CACHE STRING "empty, address (with undefined), thread, or trap (undefined, and no report)")
option(TOMBOLA_MUTANTS "compile in the switches that remove a named check (tests only)" OFF)
option(TOMBOLA_FUZZ "build the libFuzzer targets (clang only)" OFF)

add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
                    -fstack-protector-strong -fstack-clash-protection -fno-omit-frame-pointer -ffp-contract=off)
# A stack is small: of a thread it may be a megabyte, and of a process what its administrator allows.  What is as long as a
# message of the wire may be is given by the caller, or is on the heap.  Sanitizers make frames longer.
if(NOT TOMBOLA_SANITIZE AND NOT TOMBOLA_FUZZ)
	add_compile_options(-Wvla -Wframe-larger-than=65536)
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		add_compile_options(-Walloca -Wstack-usage=65536)
	endif()
endif()
# Landing pads for indirect jumps, where the processor knows them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
	add_compile_options(-fcf-protection)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
	add_compile_options(-mbranch-protection=standard)
endif()
# No path of this machine in what is installed: the same tree makes the same bytes anywhere (tests/reproducible.sh).
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TOMBOLA_MUTANTS)
	add_compile_options(-ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
add_compile_definitions(_POSIX_C_SOURCE=200809L _DEFAULT_SOURCE _FILE_OFFSET_BITS=64
                        TOMBOLA_VERSION="${PROJECT_VERSION}")
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
# Position independent programs, not only code: CMake links with -pie by this alone.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
	add_compile_definitions(_FORTIFY_SOURCE=3)
	# Asserts state our own bugs; a daemon that guards people's data keeps them.
	string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
	string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
	string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
endif()
if(TOMBOLA_SANITIZE STREQUAL "address")
	add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
	add_link_options(-fsanitize=address,undefined)
elseif(TOMBOLA_SANITIZE STREQUAL "thread")
	add_compile_options(-fsanitize=thread)
	add_link_options(-fsanitize=thread)
elseif(TOMBOLA_SANITIZE STREQUAL "trap")
	add_compile_options(-fsanitize=undefined -fsanitize-trap=undefined)
elseif(TOMBOLA_SANITIZE)
	message(FATAL_ERROR "TOMBOLA_SANITIZE: '${TOMBOLA_SANITIZE}' is none of address, thread, trap")
endif()
if(TOMBOLA_SANITIZE)
	# Lines for its reports; variables are for a debugger.
	string(REPLACE "-g" "-g1" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
	# Half the time of such a build is spent on optimising programs that run once.  What computes for seconds keeps -O2.
	string(REPLACE "-O2" "-O1" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
	# Two hundred programs that are not installed: a linker that takes a third of the time, where there is one.
	foreach(linker lld gold)
		find_program(TOMBOLA_LINKER_${linker} ld.${linker})
		if(TOMBOLA_LINKER_${linker})
			add_link_options(-fuse-ld=${linker})
			break()
		endif()
	endforeach()
endif()
# These trace themselves, start processes and ask for what a daemon gives up (nt_confine.h).
if(TOMBOLA_SANITIZE)
	add_compile_definitions(TOMBOLA_SANITIZED)
endif()
if(TOMBOLA_MUTANTS)
	add_compile_definitions(TOMBOLA_MUTANTS)
endif()
if(TOMBOLA_FUZZ)
	add_compile_options(-fsanitize=fuzzer-no-link)
	# Noting what each comparison compared takes most of the time of a target that has no other sanitizer.
	if(TOMBOLA_SANITIZE STREQUAL "trap")
		add_compile_options(-fno-sanitize-coverage=trace-cmp)
		add_compile_definitions(TOMBOLA_FUZZ_VOLUME)
	endif()
endif()

# tombola_computes(): the folder's own sources are where sanitized tests spend their time.  Not under TSan, whose tests are few.
function(tombola_computes)
	if(TOMBOLA_SANITIZE STREQUAL "address")
		add_compile_options(-O2)
	endif()
endfunction()

# tombola_library(NAME SOURCES ... USES ...): a static library whose headers are its own folder's.
function(tombola_library name)
	cmake_parse_arguments(T "" "" "SOURCES;USES" ${ARGN})
	add_library(${name} STATIC ${T_SOURCES})
	target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
	target_link_libraries(${name} PUBLIC ${T_USES})
endfunction()

# tombola_program(NAME SOURCES ... USES ... COMPONENT c): an installed command, in the package of that component.
function(tombola_program name)
	cmake_parse_arguments(T "" "COMPONENT" "SOURCES;USES" ${ARGN})
	add_executable(${name} ${T_SOURCES})
	target_link_libraries(${name} PRIVATE ${T_USES})
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
	install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${T_COMPONENT})
endfunction()

# tombola_test(NAME SOURCES ... USES ...): one cmocka program, run by ctest; it sees the headers of tests/support.
function(tombola_test name)
	cmake_parse_arguments(T "" "" "SOURCES;USES" ${ARGN})
	add_executable(${name} ${T_SOURCES} $<TARGET_OBJECTS:chosen>)
	target_link_libraries(${name} PRIVATE ${T_USES} support PkgConfig::CMOCKA)
	target_compile_definitions(${name} PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
	# Only tests of laws compute enough themselves.
	if(TOMBOLA_SANITIZE AND NOT T_USES MATCHES "acc|pt_")
		target_compile_options(${name} PRIVATE -O0)
	endif()
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
	add_test(NAME ${name} COMMAND ${name})
endfunction()
