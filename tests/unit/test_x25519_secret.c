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
#include "cr_x25519_comb.h"
#include "cr_x25519_lanes.h"
#include "cr_x25519_lib25519.h"
#include "cr_x25519_wide.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else /* then there is no valgrind to run it either */
#define VALGRIND_MAKE_MEM_UNDEFINED(at, n) ((void)(at))
#define VALGRIND_MAKE_MEM_DEFINED(at, n)   ((void)(at))
#define RUNNING_ON_VALGRIND                0
#endif

#define GROUPS    3u
#define STACK_LEN (256u << 10)
#define OURS      (STACK_LEN - 4096u) /* above are the thread's own data */

static struct cr_lanes scalar[GROUPS], point[GROUPS], out[GROUPS];
static bool leak;

static void lanes(void)
{
	cr_x25519_lanes(scalar, point, GROUPS, out);
}

static struct cr_quads quad_scalar[GROUPS], quad_point[GROUPS], quad_out[GROUPS];
static struct cr_comb *comb;
static struct cr_wide *wide; /* NULL: not here */

static void quads(void)
{
	memcpy(quad_scalar, scalar, sizeof quad_scalar);
	memcpy(quad_point, point, sizeof quad_point);
	cr_x25519_quads(quad_scalar, quad_point, GROUPS, quad_out);
	memcpy(out, quad_out, sizeof quad_out);
}

static void by_table(void)
{
	memcpy(quad_scalar, scalar, sizeof quad_scalar);
	cr_comb_times(comb, quad_scalar, GROUPS, quad_out);
	memcpy(out, quad_out, sizeof quad_out);
}

static void by_wide_table(void)
{
	cr_wide_times(wide, scalar, GROUPS, out);
}

static void library(void)
{
	const size_t n = sizeof scalar / CR_X25519_LEN;
	uint8_t *to = (uint8_t *)out;

	cr_x25519_lib25519((const uint8_t *)scalar, (const uint8_t *)point, n, to);
	cr_x25519_lib25519_base((const uint8_t *)scalar, n / 2, to);
}

static void fill(void)
{
	struct cr_rng rng;
	struct cm_err err;

	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	rng.fill(rng.ctx, scalar, sizeof scalar);
	rng.fill(rng.ctx, point, sizeof point);
}

static void no_branch_or_address_depends_on_a_secret(void (*multiply)(void))
{
	fill();
	VALGRIND_MAKE_MEM_UNDEFINED(scalar, sizeof scalar);
	VALGRIND_MAKE_MEM_UNDEFINED(point, sizeof point);
	multiply();
	if (leak && (out[0].word[0][0] & 1))
		print_message("the product is odd\n");
	VALGRIND_MAKE_MEM_DEFINED(out, sizeof out);
#ifdef CR_LANES_EMULATED
	VALGRIND_MAKE_MEM_DEFINED(&cr_x25519_lanes_beyond, sizeof cr_x25519_lanes_beyond);
	VALGRIND_MAKE_MEM_DEFINED(&cr_x25519_quads_beyond, sizeof cr_x25519_quads_beyond);
#endif
	assert_memory_not_equal(out[0].word, out[1].word, sizeof out[0].word);
}

static void in_lanes_no_branch_or_address_depends_on_a_secret(void **state)
{
	(void)state;
	if (!cr_x25519_lanes_here())
		skip();
	no_branch_or_address_depends_on_a_secret(lanes);
}

static void in_quads_no_branch_or_address_depends_on_a_secret(void **state)
{
	(void)state;
	if (!cr_x25519_quads_here())
		skip();
	no_branch_or_address_depends_on_a_secret(quads);
}

static void from_a_table_no_branch_or_address_depends_on_a_scalar(void **state)
{
	(void)state;
	if (!cr_x25519_quads_here())
		skip();
	no_branch_or_address_depends_on_a_secret(by_table);
	if (wide)
		no_branch_or_address_depends_on_a_secret(by_wide_table);
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

static void the_lanes_leave_no_secret_on_the_stack(void **state)
{
	(void)state;
	if (!cr_x25519_lanes_here() || RUNNING_ON_VALGRIND)
		skip();
	the_stack_afterwards_is_the_same_for_all_secrets(lanes);
}

static void quads_and_tables_leave_no_secret_on_the_stack(void **state)
{
	(void)state;
	if (!cr_x25519_quads_here() || RUNNING_ON_VALGRIND)
		skip();
	the_stack_afterwards_is_the_same_for_all_secrets(quads);
	the_stack_afterwards_is_the_same_for_all_secrets(by_table);
	if (wide)
		the_stack_afterwards_is_the_same_for_all_secrets(by_wide_table);
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
	static const uint8_t nine[CR_COMB_LEN] = { 9 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_lanes_no_branch_or_address_depends_on_a_secret),
		cmocka_unit_test(in_quads_no_branch_or_address_depends_on_a_secret),
		cmocka_unit_test(from_a_table_no_branch_or_address_depends_on_a_scalar),
		cmocka_unit_test(in_the_library_no_branch_or_address_depends_on_a_secret),
#ifdef LOOKS_AT_STACK
		cmocka_unit_test(the_lanes_leave_no_secret_on_the_stack),
		cmocka_unit_test(quads_and_tables_leave_no_secret_on_the_stack),
		cmocka_unit_test(the_library_leaves_no_secret_on_the_stack),
#endif
	};

	if (!cr_x25519_lanes_here() && !cr_x25519_quads_here() && !cr_x25519_lib25519_here()) {
		print_message("no vectors here: test_x25519_secret_emulated has the same lanes\n");
		return 77;
	}
	print_message("lib25519: %s\n", cr_x25519_lib25519_quick()  ? "with vectors"
					: cr_x25519_lib25519_here() ? "without vectors"
								    : "not here");
	comb = cr_x25519_quads_here() ? cr_comb_new(nine) : NULL;
	wide = comb && cr_x25519_lanes_here() ? cr_wide_new(nine) : NULL;
	leak = argc > 1 && strcmp(argv[1], "leak") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
