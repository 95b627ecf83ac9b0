/* unpacked.h - compares what pr_read made of bytes with what protobuf-c makes of them. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pr_msg.h"

/* Free the unknown fields of a message and of all in it: protobuf-c keeps them, and would pack them. */
static inline void drop_unknown(ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->n_unknown_fields; i++)
		free(m->unknown_fields[i].data);
	free(m->unknown_fields);
	m->unknown_fields = NULL;
	m->n_unknown_fields = 0;
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		char *at = (char *)m + f->offset;
		size_t n = 1;
		ProtobufCMessage **inner = (ProtobufCMessage **)(void *)at;

		if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			memcpy(&n, (char *)m + f->quantifier_offset, sizeof n);
			memcpy(&inner, at, sizeof inner);
		} else if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
			uint32_t member;

			memcpy(&member, (char *)m + f->quantifier_offset, sizeof member);
			n = member == f->id;
		}
		for (size_t k = 0; k < n; k++)
			if (inner[k])
				drop_unknown(inner[k]);
	}
}

/* Does protobuf-c unpack these bytes to the same message?  Both are packed, and compared. */
static inline bool unpacks_to(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len,
	const ProtobufCMessage *read)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(type, NULL, len, bytes);
	uint8_t *one, *two;
	size_t n;
	bool same;

	if (!m)
		return false;
	drop_unknown(m);
	n = protobuf_c_message_get_packed_size(m);
	same = n == protobuf_c_message_get_packed_size(read) && protobuf_c_message_check(read);
	one = malloc(n + 1);
	two = malloc(n + 1);
	if (!one || !two)
		abort();
	if (same) {
		(void)protobuf_c_message_pack(m, one);
		(void)protobuf_c_message_pack(read, two);
		same = memcmp(one, two, n) == 0;
	}
	free(one);
	free(two);
	protobuf_c_message_free_unpacked(m, NULL);
	return same;
}

/* The same of a document of at most `max` bytes, as far as it is read; ends the process if not. */
static inline void unpack_as_read(
	const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len, size_t max)
{
	struct pr_doc doc;
	struct cm_err err;

	if (pr_doc_decode(type, bytes, len, max, &doc, &err) == CM_OK &&
		!unpacks_to(type, bytes, len, doc.msg))
		abort();
	pr_doc_free(&doc);
}
