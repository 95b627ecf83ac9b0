/* test_x25519_secret.c - nothing that lanes, tables or lib25519 do depends on a secret, and they leave none
 * behind.
 *
 * Under valgrind (tests/x25519_secret.sh) memcheck is told that scalars and points are undefined: it then
 * reports each branch and each address that depends on them.  With the argument `leak` the program
 * branches on a bit of a product, which must be reported.  The lanes are the emulation, the same statements
 * as those compiled for the instruction: valgrind does not know AVX-512; lib25519 is that of this machine.
 * Exits with 77 when none is here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr_rand.h"
#include "cr_x25519_lanes.h"
#include "cr_x25519_lib25519.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else /* then there is no valgrind to run it either */
#define VALGRIND_MAKE_MEM_UNDEFINED(at, n) ((void)(at))
#define VALGRIND_MAKE_MEM_DEFINED(at, n)   ((void)(at))
#define RUNNING_ON_VALGRIND                0
#endif

#define N         24u /* three groups of eight, six of four */
#define STACK_LEN (256u << 10)
#define OURS      (STACK_LEN - 4096u) /* above are the thread's own data */

static struct cr_numbers scalar, point, out;
static bool leak;
static struct cr_multiples *of_eight, *of_four; /* tables of the base point; NULL: not here */

static void eight(void)
{
	cr_lanes_eight.multiply(&scalar, &point, N, &out);
}

static void four(void)
{
	cr_lanes_four.multiply(&scalar, &point, N, &out);
}

static void eight_by_table(void)
{
	cr_lanes_eight.multiply_scalars(of_eight, &scalar, N, &out);
}

static void four_by_table(void)
{
	cr_lanes_four.multiply_scalars(of_four, &scalar, N, &out);
}

static void library(void)
{
	uint8_t *to = (uint8_t *)out.word;

	cr_x25519_lib25519((const uint8_t *)scalar.word, (const uint8_t *)point.word, N, to);
	cr_x25519_lib25519_base((const uint8_t *)scalar.word, N / 2, to);
}

static void fill(void)
{
	struct cr_rng rng;
	struct cm_err err;

	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	rng.fill(rng.ctx, scalar.word, sizeof scalar.word);
	rng.fill(rng.ctx, point.word, sizeof point.word);
}

static void no_branch_or_address_depends_on_a_secret(void (*multiply)(void))
{
	fill();
	VALGRIND_MAKE_MEM_UNDEFINED(&scalar, sizeof scalar);
	VALGRIND_MAKE_MEM_UNDEFINED(&point, sizeof point);
	multiply();
	if (leak && (out.word[0] & 1))
		print_message("the product is odd\n");
	VALGRIND_MAKE_MEM_DEFINED(&out, sizeof out);
#ifdef CR_LANES_EMULATED
	VALGRIND_MAKE_MEM_DEFINED(cr_lanes_eight.beyond, sizeof(uint64_t));
	VALGRIND_MAKE_MEM_DEFINED(cr_lanes_four.beyond, sizeof(uint64_t));
#endif
	assert_memory_not_equal(out.word, out.word + 32, 32 * sizeof out.word[0]);
}

static void in_eight_lanes_no_branch_or_address_depends_on_a_secret(void **state)
{
	(void)state;
	if (!cr_lanes_eight.here())
		skip();
	no_branch_or_address_depends_on_a_secret(eight);
	no_branch_or_address_depends_on_a_secret(eight_by_table);
}

static void in_four_lanes_no_branch_or_address_depends_on_a_secret(void **state)
{
	(void)state;
	if (!cr_lanes_four.here())
		skip();
	no_branch_or_address_depends_on_a_secret(four);
	no_branch_or_address_depends_on_a_secret(four_by_table);
}

static void in_the_library_no_branch_or_address_depends_on_a_secret(void **state)
{
	(void)state;
	if (!cr_x25519_lib25519_here())
		skip();
	no_branch_or_address_depends_on_a_secret(library);
}

/* The emulation and a sanitizer use the stack in their own ways. */
#if !defined CR_LANES_EMULATED && !defined TOMBOLA_SANITIZED
#define LOOKS_AT_STACK

static void (*stacked)(void);

static void *compute(void *arg)
{
	(void)arg;
	stacked();
	return NULL;
}

/* Run a thread on this stack that makes products of random numbers. */
static void use(uint8_t *stack)
{
	pthread_attr_t attributes;
	pthread_t thread;

	fill();
	memset(stack, 0x5a, STACK_LEN);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_LEN), 0);
	assert_int_equal(pthread_create(&thread, &attributes, compute, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

/* The same stack after other secrets is the same: a part of them, or of what is made of them, differs. */
static void the_stack_afterwards_is_the_same_for_all_secrets(void (*multiply)(void))
{
	uint8_t *stack = aligned_alloc(4096, STACK_LEN), *before = malloc(OURS);
	size_t used = 0;

	stacked = multiply;
	assert_non_null(stack);
	assert_non_null(before);
	use(stack);
	for (size_t i = 0; i < OURS; i++)
		used += stack[i] != 0x5a;
	assert_true(used > 8192);
	memcpy(before, stack, OURS);
	use(stack);
	assert_memory_equal(stack, before, OURS);
	free(before);
	free(stack);
}

static void eight_lanes_leave_no_secret_on_the_stack(void **state)
{
	(void)state;
	if (!cr_lanes_eight.here() || RUNNING_ON_VALGRIND)
		skip();
	the_stack_afterwards_is_the_same_for_all_secrets(eight);
	the_stack_afterwards_is_the_same_for_all_secrets(eight_by_table);
}

static void four_lanes_leave_no_secret_on_the_stack(void **state)
{
	(void)state;
	if (!cr_lanes_four.here() || RUNNING_ON_VALGRIND)
		skip();
	the_stack_afterwards_is_the_same_for_all_secrets(four);
	the_stack_afterwards_is_the_same_for_all_secrets(four_by_table);
}

static void the_library_leaves_no_secret_on_the_stack(void **state)
{
	(void)state;
	if (!cr_x25519_lib25519_here() || RUNNING_ON_VALGRIND)
		skip();
	the_stack_afterwards_is_the_same_for_all_secrets(library);
}

#endif

int main(int argc, char **argv)
{
	static const uint8_t nine[CR_POINT_LEN] = { 9 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_eight_lanes_no_branch_or_address_depends_on_a_secret),
		cmocka_unit_test(in_four_lanes_no_branch_or_address_depends_on_a_secret),
		cmocka_unit_test(in_the_library_no_branch_or_address_depends_on_a_secret),
#ifdef LOOKS_AT_STACK
		cmocka_unit_test(eight_lanes_leave_no_secret_on_the_stack),
		cmocka_unit_test(four_lanes_leave_no_secret_on_the_stack),
		cmocka_unit_test(the_library_leaves_no_secret_on_the_stack),
#endif
	};

	if (!cr_lanes_eight.here() && !cr_lanes_four.here() && !cr_x25519_lib25519_here()) {
		print_message("no vectors here: test_x25519_secret_emulated has the same lanes\n");
		return 77;
	}
	print_message("lib25519: %s\n", cr_x25519_lib25519_quick()  ? "with vectors"
					: cr_x25519_lib25519_here() ? "without vectors"
								    : "not here");
	of_eight = cr_lanes_eight.here() ? cr_lanes_eight.multiples(nine) : NULL;
	of_four = cr_lanes_four.here() ? cr_lanes_four.multiples(nine) : NULL;
	leak = argc > 1 && strcmp(argv[1], "leak") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
