/* starve_libraries.h - makes SQLite, libcrypto and jansson allocate through our own objects, so that starve.h
 * refuses their allocations too.  Link with -Wl,--wrap=EVP_DigestInit_ex2: a hash without memory ends the
 * process, by design, so hashing is spared. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Before any of them is used. */
void starve_libraries(void);

/* Fold a step's result into the one number that must be the same with and without memory. */
void starve_fold(const void *p, size_t n, uint64_t *answer);
