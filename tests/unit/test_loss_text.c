/* test_loss_text.c - losses as ledgers keep them: back to the bit, and nothing else is taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr_hash.h"
#include "random_rounds.h"
#include "rd_loss_text.h"

static struct cm_err err;

/* 1 to 16 parts with everything that a round may have. */
static struct pt_loss random_loss(void)
{
	struct pt_loss loss = { .pure = 0 };

	loss.parts = 1 + below(PT_PARTS_MAX);
	for (size_t i = 0; i < loss.parts; i++) {
		struct acct_round r = random_round(1000);

		r.count = below(3) ? 1 : 1 + below(ACCT_MAX_COUNT);
		r.others *= below(4) ? 1 : 1 + below(100000000);
		r.defect = below(3) ? 0 : uniform() * 1e-9;
		r.sampling = below(3) ? 0 : uniform();
		loss.part[i] = r;
	}
	return loss;
}

static void put(const struct pt_loss *loss, struct cm_buf *text)
{
	cm_buf_init(text, RD_LOSS_TEXT_MAX + 1);
	assert_int_equal(rd_loss_put(loss, text, &err), CM_OK);
	assert_int_equal(cm_buf_put(text, "", 1), CM_OK);
	text->len--; /* a NUL for readers of the string */
}

static void every_loss_comes_back_to_the_bit(void **state)
{
	(void)state;
	seed = 11;
	for (int n = 0; n < 300; n++) {
		struct pt_loss loss = random_loss(), back;
		struct cm_buf text;

		put(&loss, &text);
		assert_int_equal(rd_loss_take((const char *)text.data, text.len, &back, &err), CM_OK);
		assert_int_equal(back.parts, loss.parts);
		for (size_t i = 0; i < loss.parts; i++) {
			assert_true(acct_round_equal(&back.part[i], &loss.part[i]));
			assert_true(back.part[i].count == loss.part[i].count);
		}
		cm_buf_fini(&text);
	}
}

static void the_largest_loss_has_a_text(void **state)
{
	struct pt_loss loss = { .parts = PT_PARTS_MAX }, back;
	struct cm_buf text;

	(void)state;
	for (size_t i = 0; i < loss.parts; i++) {
		struct acct_round *r = &loss.part[i];
		double sum = 0;

		*r = (struct acct_round){ .cells = ACCT_MAX_CELLS,
			.levels = ACCT_MAX_LEVELS,
			.count = ACCT_MAX_COUNT,
			.others = ACCT_MAX_REPORTS - ACCT_MAX_LEVELS,
			.defect = 1.2345678901234567e-308,
			.sampling = 1.2345678901234567e-308 };
		for (size_t j = 0; j < ACCT_MAX_CELLS; j++) {
			r->cell[j] = (struct acct_cell){ j ? 1.2345678901234567e-300 : 1. / 3,
				j ? 1.2345678901234567e-300 : 3., j ? 1.2345678901234567e-300 : 3. };
			sum += r->cell[j].omega * r->cell[j].u;
			r->level[j] = (struct acct_level){ 1.2345678901234567e-300, 1 };
		}
		assert_true(sum <= 1 && sum >= 1 - 1e-12);
	}
	put(&loss, &text);
	assert_in_range(text.len, 70000, RD_LOSS_TEXT_MAX);
	assert_int_equal(rd_loss_take((const char *)text.data, text.len, &back, &err), CM_OK);
	assert_true(acct_round_equal(&back.part[15], &loss.part[15]));
	cm_buf_fini(&text);
}

static void what_is_no_loss_has_no_text(void **state)
{
	struct pt_loss loss = { .pure = 0 };
	struct cm_buf text;

	(void)state;
	seed = 5;
	loss = random_loss();
	cm_buf_init(&text, RD_LOSS_TEXT_MAX);
	loss.parts = 0;
	assert_int_equal(rd_loss_put(&loss, &text, &err), CM_EINTERNAL);
	loss.parts = PT_PARTS_MAX + 1;
	assert_int_equal(rd_loss_put(&loss, &text, &err), CM_EINTERNAL);
	loss.parts = 1;
	loss.part[0].count = 0;
	assert_int_equal(rd_loss_put(&loss, &text, &err), CM_EINTERNAL);
	loss.part[0].count = 1;
	loss.part[0].cell[0].u = NAN;
	assert_int_equal(rd_loss_put(&loss, &text, &err), CM_EINTERNAL);
	cm_buf_fini(&text);
}

static void refused(const char *text, size_t len)
{
	struct pt_loss back;

	if (rd_loss_take(text, len, &back, &err) != CM_EDATA)
		fail_msg("taken for a loss: %.*s", (int)len, text);
}

/* Cut the text anywhere, leave out or double any piece between separators, or replace any one character. */
static void a_part_of_a_text_is_no_text(void **state)
{
	(void)state;
	seed = 3;
	for (int n = 0; n < 20; n++) {
		struct pt_loss loss = random_loss();
		struct cm_buf text;
		char *copy;

		if (loss.parts > 3)
			loss.parts = 3;
		put(&loss, &text);
		copy = malloc(2 * text.len);
		assert_non_null(copy);
		for (size_t len = 0; len < text.len; len++)
			refused((const char *)text.data, len);
		for (size_t from = 0, to;
			(to = from + strcspn((const char *)text.data + from, ",;")) < text.len;
			from = to + 1) {
			memcpy(copy, text.data, from);
			memcpy(copy + from, text.data + to + 1, text.len - to - 1);
			refused(copy, text.len - (to + 1 - from));
			memcpy(copy, text.data, to + 1);
			memcpy(copy + to + 1, text.data + from, text.len - from);
			refused(copy, text.len + (to + 1 - from));
		}
		memcpy(copy, text.data, text.len);
		for (size_t i = 0; i < text.len; i++) {
			copy[i] = (char)(text.data[i] ^ 1);
			refused(copy, text.len);
			copy[i] = (char)text.data[i];
		}
		free(copy);
		cm_buf_fini(&text);
	}
}

/* Texts whose digest fits, but with more parts than there may be, or with something that is not a round. */
static void parts_are_checked_too(void **state)
{
	static const char part[] = "cells:omega=0.5/0.5,u=2/0,v=0/2,n=10;";
	static const char *const bad[] = { "", ";", "nonsense;", "cells:omega=0.5/0.5,u=2/0,v=0/2,n=10",
		"cells:omega=0.5/0.5,u=2/1,v=0/2,n=10;" };
	char text[(PT_PARTS_MAX + 2) * sizeof part], *at = text;
	struct pt_loss back;
	uint8_t hash[CR_HASH_LEN];

	(void)state;
	for (unsigned n = 1; n <= PT_PARTS_MAX + 1; n++) {
		memcpy(at, part, sizeof part - 1);
		at += sizeof part - 1;
		cr_sha256((uint8_t *)text, (size_t)(at - text), hash);
		cm_hex(hash, 8, at);
		assert_int_equal(rd_loss_take(text, (size_t)(at - text) + 16, &back, &err),
			n > PT_PARTS_MAX ? CM_EDATA : CM_OK);
		assert_true(n > PT_PARTS_MAX || (back.parts == n && back.part[n - 1].others == 9));
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_sha256((const uint8_t *)bad[i], strlen(bad[i]), hash);
		at = text + sprintf(text, "%s", bad[i]);
		cm_hex(hash, 8, at);
		refused(text, strlen(text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loss_comes_back_to_the_bit),
		cmocka_unit_test(the_largest_loss_has_a_text),
		cmocka_unit_test(what_is_no_loss_has_no_text),
		cmocka_unit_test(a_part_of_a_text_is_no_text),
		cmocka_unit_test(parts_are_checked_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
