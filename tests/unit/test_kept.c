/* test_kept.c - what "auto" chose is kept, and a file damaged or of something else counts as absent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_file.h"
#include "pl_kept.h"
#include "pl_load.h"
#include "pl_make.h"

#define PLAN(epsilon)                                                                            \
	"name = \"p\"\npopulation = \"devices\"\nbudget = { epsilon = " epsilon                  \
	", delta = 1e-6 }\nrounds = ("                                                           \
	"{ query = \"a\", type = \"histogram\", field = \"Class\", protocol = \"auto\","         \
	"  epsilon0 = 8.0, min_reports = 20000, values = [\"a\", \"b\", \"c\"] },"               \
	"{ query = \"b\", type = \"histogram\", field = \"Class\", protocol = \"grr\","          \
	"  epsilon0 = 3.0, min_reports = 20000, values = [\"a\", \"b\", \"c\"] },"               \
	"{ query = \"c\", type = \"mean\", field = \"V3\", protocol = \"auto\", epsilon = 0.2,"  \
	"  epsilon0 = 8.0, min_reports = 20000, range = [20, 150], every = \"24h\", count = 3 }" \
	")\n"

static char folder[] = "/tmp/tombola-kept-XXXXXX", *path, *file;

static void write_plan(const char *text)
{
	struct cm_err err;

	assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	path = cm_file_join(folder, "plan.conf");
	file = cm_file_join(folder, "auto");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(file);
	free(path);
	free(file);
	return rmdir(folder);
}

static void load(struct pl_plan *p, bool searched)
{
	struct cm_err err = { 0 };

	if (pl_plan_load_kept(path, file, NULL, p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(p->searched, searched);
}

/* The bytes to be signed, which hold all parameters of a round. */
static void signed_bytes(const struct pl_plan *p, struct cm_buf *out)
{
	static const uint8_t none[PR_HASH_LEN];
	struct cm_err err;

	cm_buf_init(out, PR_PLAN_MAX);
	assert_int_equal(pl_plan_make(p, 1, none, NULL, out, &err), CM_OK);
}

static void same_plans(const struct pl_plan *a, const struct pl_plan *b)
{
	struct cm_buf x, y;

	signed_bytes(a, &x);
	signed_bytes(b, &y);
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
	for (size_t i = 0; i < a->rounds; i++) {
		assert_string_equal(a->round[i].why, b->round[i].why);
		assert_memory_equal(&a->round[i].cost, &b->round[i].cost, sizeof a->round[i].cost);
		assert_memory_equal(&a->round[i].request, &b->round[i].request, sizeof a->round[i].request);
	}
	cm_buf_fini(&x);
	cm_buf_fini(&y);
}

static void it_is_searched_once_and_the_same_plan_comes_of_it(void **state)
{
	struct pl_plan first, again, other;
	struct cm_err err;

	(void)state;
	write_plan(PLAN("1.0"));
	load(&first, true);
	assert_int_equal(pl_plan_keep(&first, file, &err), CM_OK);
	load(&again, false);
	same_plans(&first, &again);
	/* A plan with another budget is another plan, and its file replaces the first one's. */
	write_plan(PLAN("1.5"));
	load(&other, true);
	assert_int_equal(pl_plan_keep(&other, file, &err), CM_OK);
	pl_plan_fini(&other);
	load(&other, false);
	pl_plan_fini(&other);
	pl_plan_fini(&again);
	write_plan(PLAN("1.0"));
	load(&again, true);
	pl_plan_fini(&again);
	assert_int_equal(pl_plan_keep(&first, file, &err), CM_OK);
	pl_plan_fini(&first);
}

/* Whether the stored choices were taken.  If not, the rounds have no choice, and are searched. */
static bool taken(const struct cm_buf *b, struct pl_plan *p)
{
	struct pl_round *before = malloc(p->rounds * sizeof *before);
	FILE *f = fopen(file, "wb"); /* not durably: there are hundreds of them */
	bool ok;

	assert_non_null(before);
	assert_non_null(f);
	memcpy(before, p->round, p->rounds * sizeof *before);
	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
	ok = pl_kept_read(file, p);
	if (!ok)
		assert_memory_equal(before, p->round, p->rounds * sizeof *before);
	free(before);
	return ok;
}

static void a_damaged_file_is_not_used_and_one_that_is_made_up_chooses_what_auto_may(void **state)
{
	struct pl_plan p;
	struct cm_buf b;
	struct cm_err err;
	size_t n, made_up = 0;

	(void)state;
	write_plan(PLAN("1.0"));
	load(&p, false);
	cm_buf_init(&b, 1 << 20);
	assert_int_equal(cm_file_read(file, 1 << 20, &b, &err), CM_OK);
	n = b.len;
	for (b.len = 0; b.len < n; b.len += 1 + b.len / 8)
		assert_false(taken(&b, &p));
	b.len = n;
	assert_true(taken(&b, &p));
	for (size_t i = 0; i < n; i += i < 200 ? 1 : 7) {
		b.data[i] ^= 0x41;
		assert_false(taken(&b, &p));
		/* The hash is right: whoever may write here could change the plan file, too. */
		cr_sha256(b.data, n - PR_HASH_LEN, b.data + n - PR_HASH_LEN);
		if (taken(&b, &p))
			made_up++;
		for (size_t k = 0; k < p.rounds; k++)
			assert_true(!p.round[k].automatic ||
				    (p.round[k].protocol->automatic != 0 && p.round[k].epsilon0 <= 8 &&
					    p.round[k].epsilon0 > 0));
		b.data[i] ^= 0x41;
		cr_sha256(b.data, n - PR_HASH_LEN, b.data + n - PR_HASH_LEN);
	}
	assert_true(made_up > 0);
	assert_true(taken(&b, &p));
	cm_buf_fini(&b);
	pl_plan_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_searched_once_and_the_same_plan_comes_of_it),
		cmocka_unit_test(a_damaged_file_is_not_used_and_one_that_is_made_up_chooses_what_auto_may),
	};

	return cmocka_run_group_tests_name("kept", tests, set_up, tear_down);
}
