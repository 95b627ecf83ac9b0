/* sh_serve_payload.c - frames about payloads: put by the analyzer, asked for by clients. */
#include "sh_serve_private.h"

/* An answer is much larger than its question: it counts as so many frames. */
#define PER_FRAME 16384u
#define RETRY_MS  100u
#define UNREAD_MS 5000 /* a peer that has not read a part for so long gives its room to others */

#define SPAN(field) ((struct cr_span){ (field).data, (field).len })

void sh_serve_on_put_payload(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__PutPayload *put = frame->put_payload;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__PayloadHeld held = TOMBOLA__V1__PAYLOAD_HELD__INIT;
	const struct sh_put in = { SPAN(put->hash), SPAN(put->data), put->size, put->offset };
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_put_payload(p->serve->conf.core, &in, &held.held, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	if (held.held == put->size && put->data.len > 0)
		cm_log(CM_LOG_INFO, "payload stored", CM_I("bytes", (int64_t)put->size));
	held.hash = put->hash;
	out.kind_case = TOMBOLA__V1__FRAME__KIND_PAYLOAD_HELD;
	out.payload_held = &held;
	sh_serve_send(p, &out);
}

/* Parts that are sent and not read stay in memory.  One peer has one at most, and all together have
 * conf.parts_bytes: beyond it a request is to be tried again (CM_EPROTO), and who has not read for longest
 * is dropped, so that peers that never read keep no room. */
static enum cm_rc check_room(const struct peer *p, struct sh_refusal *no)
{
	const struct sh_serve *s = p->serve;
	int64_t now = cm_clock_mono_ms();
	const struct peer *oldest = NULL;
	size_t unread = 0;
	struct cm_err why;

	for (const struct peer *other = s->peers; other; other = other->next) {
		size_t n = other->link && other->part_ms > 0 ? lk_pending(other->link) : 0;

		unread += n;
		if (n > 0 && (!oldest || other->part_ms < oldest->part_ms))
			oldest = other;
	}
	if (!oldest || unread + PR_PAYLOAD_PART <= s->conf.parts_bytes)
		return sh_serve_check_reads(p, 0, RETRY_MS, no);
	if (oldest != p && now - oldest->part_ms > UNREAD_MS) {
		(void)cm_fail(&why, CM_EUNAVAIL, "does not read a part of a payload, and others wait");
		lk_close(oldest->link, &why);
	}
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, RETRY_MS,
		"parts of payloads are still on their way to others");
}

void sh_serve_on_get_payload(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetPayload *get = frame->get_payload;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Payload payload = TOMBOLA__V1__PAYLOAD__INIT;
	const struct sh_part part = { get->offset, get->length };
	struct sh_serve *s = p->serve;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	size_t n = 0;

	enum cm_rc rc = check_room(p, &no);
	if (rc == CM_OK)
		rc = sh_core_get_payload(
			s->conf.core, get->round_id.data, get->round_id.len, &part, s->part, &n, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err,
		    get->round_id.len == PR_ROUND_ID_LEN ? get->round_id.data : NULL))
		return;
	sh_serve_charge(p, (uint32_t)(n / PER_FRAME));
	payload.round_id = get->round_id;
	payload.offset = get->offset;
	payload.data = (ProtobufCBinaryData){ n, s->part };
	out.kind_case = TOMBOLA__V1__FRAME__KIND_PAYLOAD;
	out.payload = &payload;
	p->part_ms = cm_clock_mono_ms();
	sh_serve_send(p, &out);
}
