/* cl_judge_db.c (cl_judge.h) - reads and stores in client.db what a judgement needs and adds. */
#include "cl_judge.h"
#include "cl_pins.h"
#include "cl_reports.h"

static enum cm_rc keep(void *ctx, const struct rd_descriptor *d, const uint8_t *bytes, size_t len,
	const uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err)
{
	return cl_ledger_keep(ctx, d, bytes, len, signature, err);
}

static enum cm_rc see(void *ctx, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	return cl_ledger_see(ctx, d, now_ms, err);
}

static enum cm_rc refuse(
	void *ctx, const struct rd_descriptor *d, int64_t now_ms, const char *why, struct cm_err *err)
{
	return cl_ledger_refuse(ctx, d, now_ms, why, err);
}

static enum cm_rc charged(void *ctx, uint64_t sequence, bool *charged, struct cm_err *err)
{
	return cl_ledger_charged(ctx, sequence, charged, err);
}

static enum cm_rc recent(void *ctx, int64_t since_ms, uint64_t *rounds, struct cm_err *err)
{
	return cl_ledger_recent(ctx, since_ms, rounds, err);
}

static enum cm_rc account(void *ctx, const struct rd_plan *plan, struct rd_account **out, struct cm_err *err)
{
	return cl_ledger_kept(ctx, plan, out, err);
}

static enum cm_rc active(void *ctx, uint64_t *sequence, struct cm_err *err)
{
	return cl_reports_sequence(ctx, sequence, err);
}

static enum cm_rc loss(void *ctx, struct cl_loss *out, struct cm_err *err)
{
	return cl_loss_read(ctx, out, err);
}

static enum cm_rc plan(void *ctx, const uint8_t hash[PR_HASH_LEN], struct rd_plan *out, struct cm_err *err)
{
	return cl_plan_find(ctx, hash, out, err);
}

static enum cm_rc pin(void *ctx, const uint8_t plan_hash[PR_HASH_LEN], struct cl_pin *out, struct cm_err *err)
{
	return cl_pin_find(ctx, plan_hash, out, err);
}

static enum cm_rc slices(void *ctx, struct rd_slices *out, struct cm_err *err)
{
	return cl_pin_slices(ctx, out, err);
}

static enum cm_rc put_pin(void *ctx, const struct cl_pin *pin, int64_t now_ms, struct cm_err *err)
{
	return cl_pin_put(ctx, pin, now_ms, err);
}

static enum cm_rc last_try(void *ctx, const uint8_t plan_hash[PR_HASH_LEN], uint32_t entry,
	struct cl_try *out, struct cm_err *err)
{
	return cl_try_last(ctx, plan_hash, entry, out, err);
}

static enum cm_rc was_void(
	void *ctx, const struct cl_try *t, bool *is_void, uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	return cl_try_was_void(ctx, t, is_void, hash, err);
}

struct cl_judge_store cl_judge_db(struct cl_db *db)
{
	return (struct cl_judge_store){ .ctx = db,
		.keep = keep,
		.see = see,
		.refuse = refuse,
		.charged = charged,
		.recent = recent,
		.account = account,
		.active = active,
		.loss = loss,
		.plan = plan,
		.pin = pin,
		.slices = slices,
		.put_pin = put_pin,
		.last_try = last_try,
		.was_void = was_void };
}
