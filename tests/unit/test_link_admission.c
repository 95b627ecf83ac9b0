/* test_link_admission.c - which peers get a link: each certificate its share, services their own places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lk_link_private.h"

#define LINKS 64u

/* Links without a connection: the peer's identity is kept beside the link. */
static struct entry {
	struct lk_link link;
	struct cr_identity who;
	bool in;
} entry[LINKS];
static struct lk_link *newest;
static struct lk_admission *admission;

const struct cr_identity *__wrap_lk_peer(const struct lk_link *l);
const struct cr_identity *__wrap_lk_peer(const struct lk_link *l)
{
	return &((const struct entry *)(const void *)l)->who;
}

static void begin(uint32_t most, uint32_t of_one)
{
	memset(entry, 0, sizeof entry);
	newest = NULL;
	admission = lk_admission_new(most, of_one);
	assert_non_null(admission);
}

static void unlist(struct lk_link *l)
{
	*(l->prev ? &l->prev->next : &newest) = l->next;
	if (l->next)
		l->next->prev = l->prev;
	((struct entry *)(void *)l)->in = false;
}

static void leave(unsigned i)
{
	lk_admission_leave(admission, &entry[i].link);
	unlist(&entry[i].link);
}

static void end(void)
{
	for (unsigned i = 0; i < LINKS; i++)
		if (entry[i].in)
			leave(i);
	lk_admission_free(admission);
}

/* Entry i asks to enter with this role and certificate; *out as of lk_admission_enter. */
static enum cm_rc knock(unsigned i, enum cr_role role, uint8_t certificate, struct lk_link **out)
{
	struct entry *e = &entry[i];
	struct cm_err err;

	*e = (struct entry){ .who = { .role = role }, .in = true };
	memset(e->who.key_hash, certificate, sizeof e->who.key_hash);
	enum cm_rc rc = lk_admission_enter(admission, &e->link, newest, out, &err);
	if (rc != CM_OK) {
		e->in = false;
		return rc;
	}
	if (*out)
		unlist(*out);
	e->link.next = newest;
	if (newest)
		newest->prev = &e->link;
	newest = &e->link;
	return CM_OK;
}

static void enters(unsigned i, enum cr_role role, uint8_t certificate)
{
	struct lk_link *out;

	assert_int_equal(knock(i, role, certificate, &out), CM_OK);
	assert_null(out);
}

static unsigned count(enum cr_role role, int certificate)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LINKS; i++)
		n += entry[i].in && entry[i].who.role == role &&
		     (certificate < 0 || entry[i].who.key_hash[0] == certificate);
	return n;
}

static void one_certificate_has_so_many_links_and_no_more(void **state)
{
	struct lk_link *out;

	(void)state;
	begin(20, 3);
	for (unsigned i = 0; i < 3; i++)
		enters(i, CR_ROLE_CLIENT, 1);
	assert_int_equal(knock(3, CR_ROLE_CLIENT, 1, &out), CM_ELATER);
	enters(3, CR_ROLE_CLIENT, 2);
	leave(1);
	enters(1, CR_ROLE_CLIENT, 1);
	assert_int_equal(knock(4, CR_ROLE_CLIENT, 1, &out), CM_ELATER);
	end();
}

static void when_all_places_are_taken_the_one_with_most_gives_its_newest(void **state)
{
	struct lk_link *out;

	(void)state;
	begin(5, 5);
	enters(0, CR_ROLE_CLIENT, 1);
	for (unsigned i = 1; i < 5; i++)
		enters(i, CR_ROLE_CLIENT, 2);
	assert_int_equal(knock(5, CR_ROLE_CLIENT, 3, &out), CM_OK);
	assert_ptr_equal(out, &entry[4].link);
	assert_int_equal(knock(6, CR_ROLE_CLIENT, 3, &out), CM_OK); /* 1, 3, 1: two of each after */
	assert_ptr_equal(out, &entry[3].link);
	/* No certificate gives up a link to another that would then have as many. */
	assert_int_equal(knock(7, CR_ROLE_CLIENT, 3, &out), CM_ELATER);
	assert_int_equal(knock(7, CR_ROLE_CLIENT, 1, &out), CM_ELATER);
	assert_int_equal(knock(7, CR_ROLE_CLIENT, 4, &out), CM_OK);
	assert_non_null(out);
	end();
}

static void an_analyzer_gets_in_however_many_clients_there_are(void **state)
{
	struct lk_link *out;

	(void)state;
	begin(4, 1);
	for (unsigned i = 0; i < 4; i++)
		enters(i, CR_ROLE_CLIENT, (uint8_t)(i + 1));
	assert_int_equal(knock(4, CR_ROLE_CLIENT, 9, &out), CM_ELATER);
	for (unsigned i = 0; i < LK_KEPT; i++)
		enters(10 + i, CR_ROLE_ANALYZER, 99);
	assert_int_equal(count(CR_ROLE_CLIENT, -1), 4);
	/* A new link takes the place of the oldest, which may be half of a connection that broke. */
	assert_int_equal(knock(20, CR_ROLE_ANALYZER, 99, &out), CM_OK);
	assert_ptr_equal(out, &entry[10].link);
	assert_int_equal(knock(21, CR_ROLE_ANALYZER, 98, &out), CM_OK);
	assert_ptr_equal(out, &entry[11].link);
	assert_int_equal(count(CR_ROLE_ANALYZER, -1), LK_KEPT);
	end();
}

/* Whatever comes and goes, the limits hold.  No link is closed, or refused earlier, in favour of a
 * certificate that has as many. */
static void the_rules_hold_whoever_comes_and_goes(void **state)
{
	const unsigned most = 20, of_one = 6;

	(void)state;
	begin(most, of_one);
	srand(13);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (unsigned)rand() % LINKS, before[12], largest = 0,
			 all = count(CR_ROLE_CLIENT, -1);
		uint8_t certificate = (uint8_t)(rand() % 4 ? rand() % 3 : rand() % 12);
		struct lk_link *out;

		if (entry[i].in) {
			leave(i);
			continue;
		}
		for (int c = 0; c < 12; c++) {
			before[c] = count(CR_ROLE_CLIENT, c);
			largest = before[c] > largest ? before[c] : largest;
		}
		enum cm_rc rc = knock(i, CR_ROLE_CLIENT, certificate, &out);
		bool may = before[certificate] < of_one && (all < most || largest > before[certificate] + 1);
		assert_int_equal(rc, may ? CM_OK : CM_ELATER);
		assert_int_equal(out != NULL, may && all == most);
		if (out)
			assert_int_equal(before[((struct entry *)(void *)out)->who.key_hash[0]], largest);
		assert_int_equal(count(CR_ROLE_CLIENT, -1), all + (may && !out));
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_certificate_has_so_many_links_and_no_more),
		cmocka_unit_test(when_all_places_are_taken_the_one_with_most_gives_its_newest),
		cmocka_unit_test(an_analyzer_gets_in_however_many_clients_there_are),
		cmocka_unit_test(the_rules_hold_whoever_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
