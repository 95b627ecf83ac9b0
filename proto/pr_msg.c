/* pr_msg.c - bounded decoding and encoding of protobuf messages. */
#include "pr_msg.h"

#include "pr_arena.h"
#include "pr_read.h"

/* Bytes of a message's first block, beside twice its bytes on the wire.  Most need no other block. */
#define ARENA_FIRST 2048u

static enum cm_rc decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len, size_t max,
	ProtobufCMessage **msg, struct pr_arena **arena, struct cm_err *err)
{
	struct pr_arena *a;
	enum cm_rc rc;

	if (len > max)
		return cm_fail(err, CM_EPROTO, "%s of %zu bytes, at most %zu", type->short_name, len, max);
	a = pr_arena_new(ARENA_FIRST + 2 * len);
	if (!a)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = pr_read(type, bytes, len, a, msg, err);
	if (rc == CM_OK) {
		*arena = a;
		return CM_OK;
	}
	*msg = NULL;
	pr_arena_free(a);
	return rc;
}

enum cm_rc pr_decode(const uint8_t *body, size_t len, struct pr_frame *out, struct cm_err *err)
{
	ProtobufCMessage *msg = NULL;
	struct pr_arena *arena = NULL;
	enum cm_rc rc = decode(&tombola__v1__frame__descriptor, body, len, PR_FRAME_MAX, &msg, &arena, err);

	*out = (struct pr_frame){ .frame = (Tombola__V1__Frame *)msg, .arena = arena };
	return rc;
}

void pr_free(struct pr_frame *f)
{
	pr_arena_free(f->arena);
	*f = (struct pr_frame){ 0 };
}

enum cm_rc pr_doc_decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len, size_t max,
	struct pr_doc *out, struct cm_err *err)
{
	ProtobufCMessage *msg = NULL;
	struct pr_arena *arena = NULL;
	enum cm_rc rc = decode(type, bytes, len, max, &msg, &arena, err);

	*out = (struct pr_doc){ .msg = msg, .arena = arena };
	return rc;
}

void pr_doc_free(struct pr_doc *d)
{
	pr_arena_free(d->arena);
	*d = (struct pr_doc){ 0 };
}

enum cm_rc pr_encode(const Tombola__V1__Frame *frame, struct cm_buf *out, struct cm_err *err)
{
	size_t len = protobuf_c_message_get_packed_size(&frame->base);
	uint8_t *at;

	if (len > PR_FRAME_MAX)
		return cm_fail(err, CM_EINTERNAL, "a %s of %zu bytes would exceed a frame's %u",
			pr_kind_name(frame), len, PR_FRAME_MAX);
	at = cm_buf_room(out, 4 + len);
	if (!at)
		return cm_fail(err, CM_EINTERNAL, "no room for a %s of %zu bytes", pr_kind_name(frame), len);
	cm_put_be32(at, (uint32_t)len);
	(void)protobuf_c_message_pack(&frame->base, at + 4);
	out->len += 4 + len;
	return CM_OK;
}

enum cm_rc pr_doc_encode(const ProtobufCMessage *msg, struct cm_buf *out, struct cm_err *err)
{
	size_t len = protobuf_c_message_get_packed_size(msg);
	uint8_t *at = cm_buf_room(out, len);

	if (!at)
		return cm_fail(
			err, CM_EINTERNAL, "no room for a %s of %zu bytes", msg->descriptor->short_name, len);
	(void)protobuf_c_message_pack(msg, at);
	out->len += len;
	return CM_OK;
}

const char *pr_kind_name(const Tombola__V1__Frame *frame)
{
	const ProtobufCFieldDescriptor *f =
		protobuf_c_message_descriptor_get_field(&tombola__v1__frame__descriptor, frame->kind_case);

	return f ? f->name : "unknown";
}
