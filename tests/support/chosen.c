/* chosen.c - runs one test of a unit test program: the one that TOMBOLA_TEST names, or those of a pattern
 * with `*`. test_mutants.py starts 160 programs, each for one test of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

__attribute__((constructor)) static void choose(void)
{
	const char *name = getenv("TOMBOLA_TEST");

	if (name)
		cmocka_set_test_filter(name);
}
