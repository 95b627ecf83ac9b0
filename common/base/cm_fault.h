/* cm_fault.h - checks that the tests can remove by name, to prove that a test notices.
 *
 * `if (CM_CHECKED("shuffler.budget") && over)` is `if (over)` in every build but the mutant one, where the
 * environment variable TOMBOLA_MUTANT (comma-separated names) switches the named checks off.  Names in use:
 * tests/scenario/mutants.txt. */
#pragma once

#ifdef TOMBOLA_MUTANTS
#include <stdbool.h>
bool cm_checked(const char *name);
#define CM_CHECKED(name) cm_checked(name)
#else
#define CM_CHECKED(name) 1
#endif
