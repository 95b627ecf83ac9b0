/* starve_libraries.h - SQLite, libcrypto and jansson ask for memory as our own objects do, so that starve.h
 * refuses theirs, too.  Link with -Wl,--wrap=EVP_DigestInit_ex2: what hashes ends the process for want of
 * memory, by design, and is spared. */
#pragma once

/* Before any of them is used. */
void starve_libraries(void);
