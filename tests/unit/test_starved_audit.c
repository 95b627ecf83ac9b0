/* test_starved_audit.c - memory that runs out while an exported ledger is read: the command says so, or reads
 * what it reads otherwise.  jansson drops a byte of what it reads when memory runs out, of a loss too. */
#include "starve.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_oom.h"
#include "cmd_ledger.h"

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static enum cm_rc read_it(const void *path, uint64_t *answer, struct cm_err *err)
{
	static struct cmd_record r;
	struct cmd_ledger *l = NULL;
	bool more = true;
	enum cm_rc rc = cmd_ledger_open(path, &l);

	while (!rc && !(rc = cmd_ledger_next(l, &r, &more)) && more) {
		*answer = *answer * 3 + bits_of(r.epsilon_round) + bits_of(r.epsilon_total) + r.seq;
		for (size_t i = 0; i < r.parts; i++)
			*answer = *answer * 3 + r.part[i].others + bits_of(r.part[i].cell[0].omega);
	}
	cmd_ledger_close(l);
	return rc ? cm_fail(err, rc, "said on standard error") : CM_OK;
}

static void a_ledger_is_read_whole_or_memory_is_blamed(void **state)
{
	(void)state;
	json_set_alloc_funcs(cm_oom_malloc, free);
	assert_true(starve_every(5, "audit", read_it, TEST_DATA "/ledger-parts.jsonl") > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ledger_is_read_whole_or_memory_is_blamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
