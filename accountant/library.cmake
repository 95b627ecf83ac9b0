# libtombola-accountant: everything of the accountant but the command, for others to install (components accountant,
# dev, python).  Other folders of the tree link the static parts instead.
set(parts accountant acct_analyses acct_spec acct_method)
set(headers acct.h acct_spec.h acct_method.h acct_abi.h acct_state.h acct_renyi.h acct_girgis.h acct_blanket.h acct_basic.h
	acct_gspa.h acct_laplace.h acct_gdp.h acct_filter.h acct_flame.h)

set(objects)
foreach(part IN LISTS parts)
	list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()

# What public headers declare is exported, and nothing else.
set(exports ${CMAKE_CURRENT_BINARY_DIR}/tombola-accountant.map)
add_custom_command(OUTPUT ${exports}
	COMMAND ${CMAKE_COMMAND} "-DHEADERS=${headers}" -DOUT=${exports} -P ${CMAKE_CURRENT_SOURCE_DIR}/export.cmake
	DEPENDS ${headers} export.cmake
	WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} VERBATIM)
add_custom_target(accountant_exports DEPENDS ${exports})

foreach(kind SHARED STATIC)
	string(TOLOWER accountant_${kind} name)
	add_library(${name} ${kind} acct_abi.c acct_abi_filter.c ${objects})
	target_link_libraries(${name} PRIVATE PkgConfig::FFTW m Threads::Threads)
	set_target_properties(${name} PROPERTIES OUTPUT_NAME tombola-accountant)
endforeach()
set_target_properties(accountant_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${exports}
	LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_link_options(accountant_shared PRIVATE -Wl,--version-script=${exports})
add_dependencies(accountant_shared accountant_exports)

file(RELATIVE_PATH ACCT_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(tombola-accountant.pc.in tombola-accountant.pc @ONLY)
install(TARGETS accountant_shared
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT accountant NAMELINK_COMPONENT dev)
install(TARGETS accountant_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tombola COMPONENT dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tombola-accountant.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# A site folder below the prefix that the system's Python reads: Debian's, if the prefix is /usr.
set(TOMBOLA_PYTHON_DIR lib/python3/dist-packages CACHE STRING "where the Python module is installed")
install(DIRECTORY python/tombola_accountant DESTINATION ${TOMBOLA_PYTHON_DIR} COMPONENT python
	PATTERN __pycache__ EXCLUDE)
