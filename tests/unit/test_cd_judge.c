/* test_cd_judge.c - facts of a device and a round: which fact is wanted next, and which fault decides. */
#include "cl_world.h"

#include <string.h>

#include "cd_judge.h"

/* What may speak against a round, in the order in which it decides. */
enum {
	OTHER_POPULATION,
	LOST,
	STORED, /* it is continued */
	CHARGED,
	LATE,
	OTHER_PLAN,
	UNKNOWN_PLAN,
	NO_ENTRY_OF_IT, /* the descriptor differs from what the plan fixes */
	CLOSED,
	UNPINNED,
	FAULTS
};
/* What is known of the last try of the entry. */
enum { UNTRIED, NO_LATER, NO_MANIFEST, SEALED, OTHER_VOID, VOID, TRIES };

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer;
static struct rd_plan plan;
static const uint8_t other_hash[PR_HASH_LEN] = { 1 };

static int set_up(void **state)
{
	const struct cl_world_plan *made;

	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &offer);
	made = &world.plan[0];
	assert_int_equal(rd_plan_decode(made->bytes.data, made->bytes.len, &plan, &err), CM_OK);
	assert_memory_equal(plan.hash, offer.d.plan_hash, PR_HASH_LEN);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rd_plan_fini(&plan);
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

/* A device, and the round as it is offered to it. */
struct device {
	struct cd_facts facts;
	struct rd_descriptor d; /* a copy of the offer's; borrowed */
	struct rd_pin pin;
};

/* Give a device the faults (bits) and the last try. */
static void make(struct device *it, unsigned faults, unsigned last)
{
	*it = (struct device){ .d = offer.d, .pin = { .entries = plan.entries } };
	it->facts = (struct cd_facts){ .population = faults >> OTHER_POPULATION & 1 ? "other" : "test",
		.only_plan = faults >> OTHER_PLAN & 1 ? other_hash : NULL,
		.now_ms = faults >> LATE & 1 ? offer.d.deadline_ms + 60001 : CL_WORLD_NOW,
		.lost = faults >> LOST & 1 ? "words" : NULL,
		.closed_plans = faults >> CLOSED & 1,
		.stored = faults >> STORED & 1,
		.charged = faults >> CHARGED & 1,
		.plan = faults >> UNKNOWN_PLAN & 1 ? NULL : &plan,
		.pin = &it->pin };
	it->d.colluders += faults >> NO_ENTRY_OF_IT & 1;
	it->pin.taken[0] = faults >> UNPINNED & 1 ? 0xfe : 1; /* the offer is of the first entry */
	if (last == UNTRIED)
		return;
	it->d.attempt = 2;
	memset(it->d.void_manifest, 7, PR_HASH_LEN);
	it->facts.tried = (struct cd_try){ .attempt = last == NO_LATER ? 2 : 1,
		.round_id = { 9 },
		.fate = last == NO_MANIFEST ? CD_FATE_UNKNOWN
			: last == SEALED    ? CD_FATE_SEALED
					    : CD_FATE_VOID };
	memset(it->facts.tried.manifest, last == OTHER_VOID ? 8 : 7, PR_HASH_LEN);
}

/* Say what the first of the faults makes of the round: the result, and a part of its reason. */
static enum cm_rc first_of(unsigned faults, unsigned last, const char **why)
{
	static const struct {
		enum cm_rc rc;
		const char *why;
	} of[FAULTS] = { { CM_EPERM, "policy: the round is for population 'test', not 'other'" },
		{ CM_EBUDGET, "budget: words" }, { CM_OK, NULL },
		{ CM_EPERM, "round 1 is over for this client" }, { CM_ELATER, "round 1: " },
		{ CM_EPERM, "another plan than `plan` names" }, { CM_EMORE, NULL },
		{ CM_EPERM, "honest participants" }, { CM_EPERM, "is closed" },
		{ CM_EPERM, "entry 1 is not among the 3 of 4" } },
	  tried[TRIES] = { { CM_OK, NULL }, { CM_EPERM, "after this client took part in try 2" },
		  { CM_EMORE, NULL }, { CM_EPERM, "its try 1 was sealed" },
		  { CM_EPERM, "names another VOID manifest" }, { CM_OK, NULL } };

	for (unsigned i = 0; i < FAULTS; i++)
		if (faults >> i & 1) {
			*why = of[i].why;
			return of[i].rc;
		}
	*why = tried[last].why;
	return tried[last].rc;
}

static void check(struct device *it, unsigned faults, unsigned last)
{
	const char *why = NULL;
	enum cm_rc right = first_of(faults, last, &why), rc;
	struct cd_verdict v;
	unsigned wanted = 0;

	/* Facts are wanted in their order, each once. */
	while ((rc = cd_judge(&it->facts, &it->d, &v, &err)) == CM_EMORE && v.want != CD_FACTS) {
		assert_int_equal(v.want, wanted);
		it->facts.known[wanted++] = true;
	}
	assert_int_equal(rc, right);
	if (why && !strstr(err.msg, why))
		fail_msg("'%s' instead of '%s'", err.msg, why);
	assert_int_equal(v.resumed, right == CM_OK && (faults >> STORED & 1));
	assert_int_equal(v.answered, why && strstr(why, "is over") ? 1 : 0);
	assert_int_equal(v.clock, right == CM_ELATER);
	assert_int_equal(v.need.kind, right != CM_EMORE            ? CD_NEED_NOTHING
				      : faults >> UNKNOWN_PLAN & 1 ? CD_NEED_PLAN
								   : CD_NEED_MANIFEST);
	if (v.need.kind == CD_NEED_PLAN)
		assert_memory_equal(v.need.plan_hash, offer.d.plan_hash, PR_HASH_LEN);
	if (v.need.kind == CD_NEED_MANIFEST)
		assert_memory_equal(v.need.round_id, it->facts.tried.round_id, PR_ROUND_ID_LEN);
	/* A device that has all facts at hand gets the same at once. */
	for (unsigned i = 0; i < CD_FACTS; i++)
		it->facts.known[i] = true;
	assert_int_equal(cd_judge(&it->facts, &it->d, &v, &err), right);
	assert_int_equal(v.want, CD_FACTS);
}

/* Every set of faults with every last try. */
static void the_first_fault_decides_and_facts_are_wanted_in_order(void **state)
{
	struct device it;

	(void)state;
	for (unsigned faults = 0; faults < 1u << FAULTS; faults++)
		for (unsigned last = 0; last < TRIES; last++) {
			make(&it, faults, last);
			check(&it, faults, last);
		}
}

static void facts_behind_the_first_fault_are_not_wanted(void **state)
{
	static const struct {
		unsigned fault, wanted;
	} rows[] = { { OTHER_POPULATION, CD_FACT_SEEN }, { LOST, CD_FACT_PLAN }, { STORED, CD_FACT_PLAN },
		{ CHARGED, CD_FACT_PLAN }, { LATE, CD_FACT_PLAN }, { OTHER_PLAN, CD_FACT_PLAN },
		{ UNKNOWN_PLAN, CD_FACT_PIN }, { NO_ENTRY_OF_IT, CD_FACT_PIN }, { CLOSED, CD_FACT_PIN },
		{ UNPINNED, CD_FACT_TRY } };
	struct cd_verdict v;
	struct device it;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		make(&it, 1u << rows[i].fault, UNTRIED);
		for (unsigned k = 0; k < rows[i].wanted; k++)
			it.facts.known[k] = true;
		if (cd_judge(&it.facts, &it.d, &v, &err) == CM_EMORE)
			assert_int_equal(v.need.kind, CD_NEED_PLAN);
		assert_int_equal(v.want, CD_FACTS);
	}
}

static void without_the_document_that_is_absent_nothing_is_answered(void **state)
{
	struct cd_verdict v;
	struct device it;

	(void)state;
	for (unsigned plan_lacks = 0; plan_lacks < 2; plan_lacks++) {
		make(&it, plan_lacks << UNKNOWN_PLAN, NO_MANIFEST);
		memset(it.facts.known, true, sizeof it.facts.known);
		it.facts.absent = "not found";
		assert_int_equal(cd_judge(&it.facts, &it.d, &v, &err), CM_EPERM);
		assert_string_equal(err.msg, plan_lacks ? "the round's plan is not to be had: not found"
							: "try 1 of entry 1 counts as released, because its "
							  "VOID manifest cannot be had: not found");
		assert_int_equal(v.need.kind, CD_NEED_NOTHING);
	}
}

static void an_adaptive_plan_has_no_entries_to_check(void **state)
{
	struct cd_verdict v;
	struct device it;

	(void)state;
	make(&it, 1u << UNPINNED, SEALED);
	it.facts.adaptive = true;
	memset(it.facts.known, true, sizeof it.facts.known);
	assert_int_equal(cd_judge(&it.facts, &it.d, &v, &err), CM_OK);
}

static void a_draft_is_judged_by_losses_and_plans_alone(void **state)
{
	static const struct {
		unsigned faults;
		enum cm_rc rc;
	} rows[] = { { 0, CM_OK }, { 1u << LOST | 1u << CLOSED, CM_EBUDGET },
		{ 1u << OTHER_PLAN | 1u << CLOSED, CM_EPERM }, { 1u << CLOSED, CM_EPERM },
		{ 1u << OTHER_POPULATION | 1u << STORED | 1u << CHARGED | 1u << LATE | 1u << UNPINNED,
			CM_OK } };
	struct device it;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		make(&it, rows[i].faults, UNTRIED);
		assert_int_equal(cd_judge_draft(&it.facts, &plan, &err), rows[i].rc);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_first_fault_decides_and_facts_are_wanted_in_order),
		TEST(facts_behind_the_first_fault_are_not_wanted),
		TEST(without_the_document_that_is_absent_nothing_is_answered),
		TEST(an_adaptive_plan_has_no_entries_to_check),
		TEST(a_draft_is_judged_by_losses_and_plans_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
