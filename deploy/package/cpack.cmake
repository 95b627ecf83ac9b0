# Read by cpack for one kind of packages: RPM systems differ in where Python looks, so its module is in no RPM.
if(CPACK_GENERATOR STREQUAL "RPM")
	list(REMOVE_ITEM CPACK_COMPONENTS_ALL python)
endif()
