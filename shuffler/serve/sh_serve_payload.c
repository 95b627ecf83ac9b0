/* sh_serve_payload.c - frames about payloads: put by the analyzer, asked for by clients. */
#include "sh_serve_private.h"

/* An answer is much larger than its question: it counts as so many frames. */
#define PER_FRAME 16384u
#define RETRY_MS  100u

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

	/* What a peer does not read would pile up, of each connection: at most two parts. */
	enum cm_rc rc = sh_serve_check_reads(p, PR_PAYLOAD_PART, RETRY_MS, &no);
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
	sh_serve_send(p, &out);
}
