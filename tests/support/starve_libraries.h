/* starve_libraries.h - makes SQLite, libcrypto and jansson allocate through our own objects, so that starve.h
 * refuses their allocations too.  Link with -Wl,--wrap=EVP_DigestInit_ex2: a hash without memory ends the
 * process, by design, so hashing is spared. */
#pragma once

/* Before any of them is used. */
void starve_libraries(void);
