# Read by cpack for one kind of packages.  One package alone (package.sh):
if(NOT "$ENV{TOMBOLA_PARTY}" STREQUAL "")
	set(CPACK_COMPONENTS_ALL $ENV{TOMBOLA_PARTY})
endif()
# RPM systems differ in where Python looks, so its module is in no RPM.
if(CPACK_GENERATOR STREQUAL "RPM")
	list(REMOVE_ITEM CPACK_COMPONENTS_ALL python)
endif()
