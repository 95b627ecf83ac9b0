/* sh_share.c - an intake's part of a round: the reports that it takes in one epoch. */
#include "sh_share.h"

#include <stdlib.h>

#include "sh_round.h"

enum cm_rc sh_share_new(const struct sh_store *store, const struct sh_loan *loan, size_t max_bytes,
	struct sh_share **out, struct cm_err *err)
{
	struct sh_share *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->store = store;
	s->epoch = loan->epoch;
	s->keys = *loan->keys;
	s->room = loan->room;
	enum cm_rc rc = rd_descriptor_decode(loan->descriptor.data, loan->descriptor.len, &s->d, err);
	if (rc == CM_OK)
		rc = sh_intake_init(&s->intake, &s->vault, &s->d,
			(struct sh_limits){ .max_bytes = max_bytes, .most_of_one = loan->most_of_one }, err);
	if (rc != CM_OK) {
		sh_share_free(s);
		return rc;
	}
	/* The head's clock decides when the round begins and ends, since ours may be wrong. */
	s->intake.opens_ms = INT64_MIN;
	s->intake.deadline_ms = INT64_MAX;
	*out = s;
	return CM_OK;
}

enum cm_rc sh_share_load(struct sh_share *s, struct cm_err *err)
{
	enum cm_rc rc = sh_vault_join(&s->vault, s->store, &s->keys, s->d.round_id, s->epoch,
		sh_round_buckets(&s->d), rd_message_len(&s->d), err);

	sh_vault_keys_fini(&s->keys);
	if (rc == CM_OK)
		rc = sh_intake_load(&s->intake, &s->vault, err);
	if (rc == CM_OK)
		sh_share_room(s, s->room);
	return rc;
}

void sh_share_room(struct sh_share *s, uint64_t room)
{
	uint64_t promised = s->intake.participants - sh_batch_submissions(&s->intake.gathering);

	s->room = room;
	/* The limit is the tables' room, whatever the head says. */
	s->intake.target = room < s->d.target - promised ? promised + room : s->d.target;
}

enum cm_rc sh_share_store(
	struct sh_share *s, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err)
{
	return sh_intake_store(&s->vault, &s->d, batch, rng, err);
}

void sh_share_free(struct sh_share *s)
{
	if (!s)
		return;
	sh_intake_fini(&s->intake);
	sh_vault_close(&s->vault);
	sh_vault_keys_fini(&s->keys);
	rd_descriptor_fini(&s->d);
	free(s);
}
