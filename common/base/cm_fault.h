/* cm_fault.h - checks that a test can switch off by name, to prove that some test fails without them.
 *
 * `if (CM_CHECKED("shuffler.budget") && over)` is `if (over)` in every build but the mutant one, where the
 * environment variable TOMBOLA_MUTANT (comma-separated names) switches the named checks off.
 * tests/scenario/mutants.txt lists the names in use. */
#pragma once

#ifdef TOMBOLA_MUTANTS
#include <stdbool.h>
bool cm_checked(const char *name);
/* If checks are switched off in this process, log them at warn. */
void cm_fault_warn(void);
#define CM_CHECKED(name) cm_checked(name)
#else
#define CM_CHECKED(name) 1
#define cm_fault_warn()  ((void)0)
#endif
