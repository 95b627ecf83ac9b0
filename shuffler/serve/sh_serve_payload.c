/* sh_serve_payload.c - frames about payloads: put by the analyzer, asked for by clients. */
#include "sh_serve_private.h"

/* An answer is much larger than its question: it counts as so many frames. */
#define PER_FRAME 16384u
#define RETRY_MS  100u
#define UNREAD_MS 5000 /* a peer that has read nothing of a part for so long gives its room to others */
#define SHARES    8u   /* one certificate has at most this part of the room */

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

/* Bytes that wait in memory for a peer which has asked for parts.  A peer that has taken any since the last
 * look reads, however slowly. */
static size_t waiting(struct peer *p, int64_t now)
{
	size_t unread;

	if (!p->link || p->part_ms == 0)
		return 0;
	unread = lk_unread(p->link);
	if (unread < p->unread)
		p->part_ms = now;
	p->unread = unread;
	return lk_pending(p->link);
}

/* At once, without flushing: their room is wanted. */
static void drop_unread(struct sh_serve *s, int64_t now)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_EUNAVAIL, "does not read a part of a payload, and others wait");
	for (struct peer *p = s->peers; p; p = p->next)
		if (p->link && p->part_ms > 0 && lk_pending(p->link) > 0 && now - p->part_ms > UNREAD_MS)
			lk_abort(p->link, &why);
}

/* Parts that are sent and not read stay in memory.  One peer has one at most, the peers of one certificate
 * have a share of conf.parts_bytes (one part at least), and all together have all of it: beyond that a
 * request is to be tried again (CM_EPROTO), and peers that do not read at all are dropped. */
static enum cm_rc check_room(const struct peer *p, struct sh_refusal *no)
{
	struct sh_serve *s = p->serve;
	size_t all = 0, its = 0, room = s->conf.parts_bytes, share = room / SHARES;
	int64_t now = cm_clock_mono_ms();

	for (struct peer *other = s->peers; other; other = other->next) {
		size_t n = waiting(other, now);

		all += n;
		if (other->holder == p->holder)
			its += n;
	}
	if (all == 0 || (all + PR_PAYLOAD_PART <= room && (its == 0 || its + PR_PAYLOAD_PART <= share)))
		return sh_serve_check_reads(p, 0, RETRY_MS, no);
	drop_unread(s, now);
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
