/* pr_msg.h - bounded decoding and encoding of protobuf messages.  No I/O.
 *
 * A message is read in one pass, which checks nesting, field count, every repeated field and every length
 * against pr_limits.h before it takes memory for it, and refuses the faults listed in pr_read.h.  So a
 * decoded message holds no field twice, its text is UTF-8 without NUL, and a round_id, hash, key or
 * signature is either empty or of its exact length; doc/wire.md says which are never empty.  Nothing in it
 * points into the bytes that were decoded, and unknown fields are not kept. */
#pragma once

#include "cm_buf.h"
#include "pr_limits.h"
#include "tombola.pb-c.h"

/* A decoded message in one arena. pr_free, also to be called after a failure, wipes and frees it.  CM_EPROTO
 * when malformed or over a limit, CM_EINTERNAL out of memory.  A frame of an unknown kind decodes with
 * kind_case 0: answer it with ERROR_UNKNOWN_KIND. */
struct pr_frame {
	Tombola__V1__Frame *frame;
	void *arena;
};
CM_CHECK enum cm_rc pr_decode(const uint8_t *body, size_t len, struct pr_frame *out, struct cm_err *err);
void pr_free(struct pr_frame *f);

/* A document (Descriptor, Manifest, Charge, Record) of at most `max` bytes, decoded the same way by its
 * protobuf-c descriptor. */
struct pr_doc {
	ProtobufCMessage *msg;
	void *arena;
};
CM_CHECK enum cm_rc pr_doc_decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len,
	size_t max, struct pr_doc *out, struct cm_err *err);
void pr_doc_free(struct pr_doc *d);

/* A frame of this kind, for one call: PR_FRAME(PULL, pull, &pull). */
#define PR_FRAME(kind, member, message)                                                           \
	(&(Tombola__V1__Frame){ .base = PROTOBUF_C_MESSAGE_INIT(&tombola__v1__frame__descriptor), \
		.kind_case = TOMBOLA__V1__FRAME__KIND_##kind,                                     \
		.member = (message) })

/* Append the length prefix and the frame to out.  CM_EINTERNAL if the frame exceeds PR_FRAME_MAX (a bug of
 * this program), or memory runs out. */
CM_CHECK enum cm_rc pr_encode(const Tombola__V1__Frame *frame, struct cm_buf *out, struct cm_err *err);
/* Append a document's bytes to out. */
CM_CHECK enum cm_rc pr_doc_encode(const ProtobufCMessage *msg, struct cm_buf *out, struct cm_err *err);

/* The name of a frame's kind, for errors, such as "submit"; "unknown" when it has none. */
const char *pr_kind_name(const Tombola__V1__Frame *frame);
