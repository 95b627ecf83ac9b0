/* an_world.c - a temporary analyzer, and its rounds driven as the daemon does. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "an_budget.h"
#include "an_kept.h"
#include "an_keys.h"
#include "an_result.h"
#include "an_scratch.h"
#include "cm_file.h"
#include "pl_make.h"

const char world_plan[] =
	"name = \"test\"\n"
	"population = \"testers\"\n"
	"budget = { epsilon = 8.0, delta = 1e-6, unit = \"device\" }\n"
	"rounds = (\n"
	"  { query = \"state\", type = \"histogram\", protocol = \"grr\", field = \"Class\",\n"
	"    epsilon0 = 2.0, min_reports = 20, target = 40, values = [\"a\", \"b\", \"c\"] },\n"
	"  { query = \"level\", type = \"mean\", field = \"V3\", epsilon0 = 1.0,\n"
	"    min_reports = 20, range = [0, 10], levels = 4 },\n"
	"  { query = \"again\", type = \"histogram\", protocol = \"grr\", field = \"Class\",\n"
	"    epsilon0 = 12.0, min_reports = 20, values = [\"a\", \"b\", \"c\"] } )\n";

void world_make(struct world *w, const char *plan, uint8_t seed)
{
	world_make_within(w, plan, seed, 0, 0);
}

void world_make_within(struct world *w, const char *plan, uint8_t seed, double epsilon, double delta)
{
	uint8_t bytes[CR_SEED_LEN];
	struct cm_err err = { 0 };

	memset(w, 0, sizeof *w);
	(void)snprintf(w->dir, sizeof w->dir, "/tmp/tombola-an-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->plan_path, sizeof w->plan_path, "%s/plan.conf", w->dir);
	assert_int_equal(cm_file_write(w->plan_path, plan, strlen(plan), 0600, &err), CM_OK);
	w->conf = (struct an_conf){
		.state_dir = w->dir, .plan = w->plan_path, .epsilon = epsilon, .delta = delta
	};
	round_keys_make(&w->analyzer);
	round_keys_make(&w->shuffler);
	memset(bytes, seed, sizeof bytes);
	w->generator = cr_rng_seeded_new(bytes, &w->rng);
	assert_non_null(w->generator);
	if (an_ledger_files_open(&w->conf, false, &w->files, &err) != CM_OK)
		fail_msg("%s", err.msg);
	world_restart(w);
	world_pin(w);
}

void world_pin(struct world *w)
{
	uint8_t previous[PR_HASH_LEN];
	uint64_t number = an_state_next_plan(&w->files.state, previous);
	struct cm_err err = { 0 };
	struct cm_buf plan;

	if (w->files.state.current)
		return;
	cm_buf_init(&plan, PR_PLAN_MAX);
	if (pl_plan_make(&w->files.plan, number, previous, NULL, &plan, &err) != CM_OK ||
		an_ledger_files_pin(&w->files, &plan, w->analyzer.signer, WORLD_NOW, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_buf_fini(&plan);
}

void world_replan(struct world *w, const char *plan)
{
	struct cm_err err = { 0 };

	assert_int_equal(cm_file_write(w->plan_path, plan, strlen(plan), 0600, &err), CM_OK);
	world_restart(w);
}

/* The lock belongs to the process, so a world opens its ledger files for writing without it. */
void world_restart(struct world *w)
{
	struct cm_err err = { 0 };
	struct an_ledger *l = NULL;
	char *path = cm_file_join(w->dir, "ledger");
	size_t torn = 0;

	an_ledger_files_close(&w->files);
	assert_int_equal(an_ledger_open(path, true, &l, &torn, &err), CM_OK);
	an_ledger_free(l);
	if (an_ledger_files_open(&w->conf, false, &w->files, &err) != CM_OK)
		fail_msg("%s", err.msg);
	an_ledger_free(w->files.ledger);
	assert_int_equal(an_ledger_open(path, true, &w->files.ledger, &torn, &err), CM_OK);
	free(path);
}

void world_free(struct world *w)
{
	char command[100];

	an_ledger_files_close(&w->files);
	round_keys_free(&w->analyzer);
	round_keys_free(&w->shuffler);
	cr_rng_seeded_free(w->generator);
	(void)snprintf(command, sizeof command, "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
}

uint8_t *world_file(const struct world *w, const char *name, size_t *n)
{
	char *path = cm_file_join(w->dir, name);
	struct cm_err err = { 0 };
	struct cm_buf b;

	cm_buf_init(&b, (size_t)1 << 24);
	if (cm_file_read(path, b.max, &b, &err) != CM_OK)
		fail_msg("%s", err.msg);
	free(path);
	*n = b.len;
	return b.data;
}

void world_write(const struct world *w, const char *name, const uint8_t *bytes, size_t n)
{
	char *path = cm_file_join(w->dir, name);
	struct cm_err err = { 0 };

	assert_int_equal(cm_file_write(path, bytes, n, 0600, &err), CM_OK);
	free(path);
}

int world_remove(const struct world *w, const char *name)
{
	char *path = cm_file_join(w->dir, name);
	int rc = remove(path);

	free(path);
	return rc;
}

static enum cm_rc peer_error(const Tombola__V1__Error *e, struct cm_err *err)
{
	return cm_fail(err, CM_EUNAVAIL, "error %d", (int)e->code);
}

/* The stage the ledger on disk gives, whatever this process believes. */
static enum an_stage stage_on_disk(const struct world *w, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	struct an_ledger_files b;
	struct cm_err err = { 0 };
	enum an_stage stage;

	if (an_ledger_files_open(&w->conf, false, &b, &err) != CM_OK)
		fail_msg("%s", err.msg);
	stage = an_state_find(&b.state, round_id)->stage;
	an_ledger_files_close(&b);
	return stage;
}

struct driver {
	struct world *w;
	struct fake *f;
	struct an_round *r;
	struct an_open *open;
	struct an_scratch *scratch;
	struct an_round_state *state;
	bool opening; /* a bucket whose opening is still to be reported */
	bool right;   /* it has its root */
};

static enum cm_rc do_open(struct driver *d, const struct an_action *a, struct cm_err *err)
{
	struct cr_key secret;
	enum cm_rc rc;

	/* Opened implies charged, durably. */
	assert_int_equal(stage_on_disk(d->w, d->state->descriptor.round_id), AN_CHARGED);
	if (!d->open) {
		assert_int_equal(an_key_load(d->w->dir, &d->state->descriptor, &secret, err), CM_OK);
		assert_int_equal(an_scratch_new(d->w->dir, &d->scratch, err), CM_OK);
		const struct an_open_conf conf = { &d->state->descriptor, &secret, 2,
			an_round_manifest(d->r)->messages, 1, an_scratch_spills(d->scratch) };
		assert_int_equal(an_open_new(&conf, &d->open, err), CM_OK);
		cr_key_fini(&secret);
	}
	rc = an_open_bucket(d->open, a->sealed, a->messages, a->root, &d->right, err);
	d->opening = d->f->slow;
	return rc == CM_OK && !d->opening ? an_round_opened(d->r, d->right, an_open_root(d->open), err) : rc;
}

static enum cm_rc do_publish(struct driver *d, struct cm_err *err)
{
	struct cm_buf bytes;
	uint8_t hash[PR_HASH_LEN];

	cm_buf_init(&bytes, AN_RESULT_MAX);
	assert_false(d->opening);
	assert_int_equal(
		an_result_make(&d->w->files.state, d->state, an_round_manifest(d->r),
			d->open ? an_open_tally(d->open) : NULL, an_round_spoiled(d->r), &bytes, err),
		CM_OK);
	assert_int_equal(an_result_write(d->w->dir, d->state, &bytes, err), CM_OK);
	cr_sha256(bytes.data, bytes.len, hash);
	cm_buf_fini(&bytes);
	an_round_published(d->r, hash);
	return CM_OK;
}

static enum cm_rc act(struct driver *d, struct an_action *a, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	switch (a->act) {
	case AN_ACT_SEND:
		return fake_answer(d->f, a->frame, d->r, err);
	case AN_ACT_PAUSE:
		assert_true(a->pause_ms >= AN_PAUSE_MIN_MS);
		return an_round_resume(d->r, err);
	case AN_ACT_APPEND:
		rc = an_ledger_files_append(&d->w->files, a->record, WORLD_NOW + 1, err);
		return rc == CM_OK ? an_round_appended(d->r, err) : rc;
	case AN_ACT_OPEN:
		return do_open(d, a, err);
	case AN_ACT_PUBLISH:
		return do_publish(d, err);
	case AN_ACT_ERASE:
		rc = an_key_erase(d->w->dir, d->state->descriptor.round_id, err);
		an_round_erased(d->r);
		return rc;
	case AN_ACT_WAIT:
		if (!d->opening)
			fail_msg("the dialogue waits for nothing");
		d->opening = false;
		return an_round_opened(d->r, d->right, an_open_root(d->open), err);
	case AN_ACT_DONE:
		break;
	}
	return rc;
}

enum cm_rc world_decide(struct world *w, uint32_t number, struct cm_err *err)
{
	const struct an_round_state *r = &w->files.state.round[number - 1];
	struct rd_verdict verdict;
	struct cm_err why = { 0 };
	enum cm_rc judged = an_budget_decide(&w->files.state, r, &verdict, &why), rc = judged;

	/* In mode plan a refusal stands in the signed plan already. */
	if (judged == CM_OK || (judged == CM_EBUDGET && an_state_adaptive(&w->files.state)))
		rc = an_ledger_files_decide(&w->files, r,
			&(struct an_decision){ .verdict = &verdict, .take = judged == CM_OK }, &w->rng,
			WORLD_NOW, err);
	if (rc != CM_OK || judged == CM_OK)
		return rc;
	*err = why;
	return judged;
}

enum cm_rc world_drive(struct world *w, struct fake *f, uint32_t number, unsigned actions, struct cm_err *err)
{
	struct an_round_state *r = &w->files.state.round[number - 1];
	enum cm_rc rc = CM_OK;

	if (r->stage == AN_PLANNED || r->stage == AN_REFUSED)
		rc = world_decide(w, number, err);
	return rc == CM_OK ? world_drive_round(w, f, r, actions, err) : rc;
}

static int64_t our_clock_ms;

static int64_t world_now(void)
{
	return our_clock_ms != 0 ? our_clock_ms : WORLD_NOW;
}

static enum cm_rc keep(void *user, const struct rd_signed *manifest, struct cm_err *err)
{
	struct driver *d = user;

	return an_kept_manifest(
		d->w->dir, d->state->descriptor.round_id, manifest, d->w->shuffler.verifier, err);
}

enum cm_rc world_drive_round(
	struct world *w, struct fake *f, struct an_round_state *r, unsigned actions, struct cm_err *err)
{
	struct driver d = { .w = w, .f = f, .state = r };
	const struct an_round_conf conf = { .ledger = w->files.ledger,
		.round = d.state,
		.signer = w->analyzer.signer,
		.shuffler = w->shuffler.verifier,
		.population = "testers",
		.announced = f->announced && d.state->stage == AN_RESERVED,
		.wait_ms = 1000,
		.keep = keep,
		.user = &d,
		.wall_ms = world_now,
		.peer_error = peer_error };
	struct an_action a = { .act = AN_ACT_WAIT };
	enum cm_rc rc = CM_OK;

	f->world = w;
	our_clock_ms = f->our_clock_ms;
	assert_int_equal(an_round_new(&conf, &d.r, err), CM_OK);
	rc = an_round_connected(d.r, err);
	while (rc == CM_OK && a.act != AN_ACT_DONE) {
		if (actions-- == 0) {
			rc = CM_EMORE;
			break;
		}
		an_round_next(d.r, &a);
		rc = act(&d, &a, err);
	}
	an_round_free(d.r);
	an_open_free(d.open);
	an_scratch_free(d.scratch);
	if (rc == CM_EMORE)
		world_restart(w);
	return rc;
}
