# cmake -DHEADERS=a.h;b.h -DOUT=file -P export.cmake: the linker's version script; what a public header declares is
# exported, nothing else.
set(names)
foreach(header IN LISTS HEADERS)
	file(READ ${header} text)
	string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "" text "${text}")
	string(REGEX MATCHALL "acct_[a-z0-9_]+\\(" calls "${text}")
	list(APPEND names ${calls})
endforeach()
list(REMOVE_DUPLICATES names)
list(SORT names)
list(TRANSFORM names REPLACE "\\(" "")
list(JOIN names ";\n\t\t" lines)
file(WRITE ${OUT} "TOMBOLA_ACCOUNTANT_0 {\n\tglobal:\n\t\t${lines};\n\tlocal: *;\n};\n")
