/* an_round_payload.c - the payload of a round is put to the shuffler before the round is announced. */
#include <stdio.h>
#include <string.h>

#include "an_round_private.h"

#define PUT_AGAIN_MAX 3u /* times that a shuffler may lose what was put to it */

enum cm_rc an_payload_first(struct an_round *r, struct cm_err *err)
{
	r->put = 0;
	return an_ask(r, !r->announced && r->conf.payload.len > 0 ? AN_AT_PAYLOAD : AN_AT_ANNOUNCED, err);
}

/* At first a question without bytes, then what follows those that are held. */
enum cm_rc an_payload_ask(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__PutPayload *m = &r->request.body.put_payload;
	const struct cr_span *p = &r->conf.payload;
	bool begun = r->step == AN_AT_PAYLOAD;
	size_t left = p->len - (size_t)r->put;

	(void)err;
	tombola__v1__put_payload__init(m);
	m->hash = an_span(r->conf.round->descriptor.payload_hash, PR_HASH_LEN);
	m->size = p->len;
	m->offset = r->put;
	if (begun)
		m->data = an_span(
			(const uint8_t *)p->data + r->put, left < PR_PAYLOAD_PART ? left : PR_PAYLOAD_PART);
	r->request.frame.kind_case = TOMBOLA__V1__FRAME__KIND_PUT_PAYLOAD;
	r->request.frame.put_payload = m;
	return CM_OK;
}

/* The first question has no bytes: the shuffler may hold some of an earlier run. */
enum cm_rc an_payload_held(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	const Tombola__V1__PayloadHeld *held = frame->payload_held;
	bool first = r->request.body.put_payload.data.len == 0;

	if (held->hash.len != PR_HASH_LEN ||
		memcmp(held->hash.data, r->conf.round->descriptor.payload_hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "the shuffler answered for another payload");
	if (held->held > r->conf.payload.len || (!first && held->held <= r->put))
		return cm_fail(err, CM_EPROTO, "the shuffler does not take the payload");
	r->put = held->held;
	return an_ask(r, r->put == r->conf.payload.len ? AN_AT_ANNOUNCED : AN_AT_PAYLOAD, err);
}

/* The shuffler refused the announcement since it does not hold the payload: a state that was put to it is
 * lost there, or our copy is lost here. */
enum cm_rc an_payload_missing(struct an_round *r, struct cm_err *err)
{
	if (r->conf.payload.len > 0 && r->put_again++ < PUT_AGAIN_MAX) {
		r->put = 0;
		return an_ask(r, AN_AT_PAYLOAD, err);
	}
	an_void_record(r, NULL);
	(void)snprintf(r->record.reason, sizeof r->record.reason, "%s (payload): %s", an_refusal(r),
		r->conf.payload.len > 0 ? "it does not keep the payload" : "the payload is lost here");
	return CM_OK;
}
