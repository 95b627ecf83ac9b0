/* cl_spawn_frame.c - encodes and decodes the frames between the client and its spawner of programs. */
#include "cl_spawn_frame.h"

/* Number of bytes of a frame of this kind without its payload, row or answer. */
static size_t fixed_of(enum cl_spawn_kind kind)
{
	switch (kind) {
	case CL_SPAWN_BEGIN:
		return 37;
	case CL_SPAWN_ROW:
		return 12;
	case CL_SPAWN_ANSWER:
		return 8;
	case CL_SPAWN_END:
	case CL_SPAWN_READY:
		return 4;
	}
	return 0;
}

static bool has_bytes(enum cl_spawn_kind kind)
{
	return kind == CL_SPAWN_BEGIN || kind == CL_SPAWN_ROW || kind == CL_SPAWN_ANSWER;
}

enum cm_rc cl_spawn_put(struct cm_buf *out, const struct cl_spawn_frame *f)
{
	size_t fixed = fixed_of(f->kind), len = 1 + fixed + (has_bytes(f->kind) ? f->len : 0);
	uint8_t head[5 + 37];

	if (len > CL_SPAWN_MAX)
		return CM_EDATA;
	cm_put_le32(head, (uint32_t)len);
	head[4] = (uint8_t)f->kind;
	cm_put_le32(head + 5, f->job);
	if (f->kind == CL_SPAWN_BEGIN) {
		cm_put_le32(head + 9, f->program);
		cm_put_le32(head + 13, f->features);
		cm_put_le32(head + 17, f->classes);
		cm_put_le32(head + 21, f->dimension);
		cm_put_le64(head + 25, f->budget_ns);
		cm_put_le64(head + 33, f->processor_ns);
		head[41] = f->keep;
	} else if (fixed > 4) {
		cm_put_le32(head + 9, f->serial);
		cm_put_le32(head + 13, f->lane);
	}
	if (!cm_buf_room(out, 4 + len))
		return CM_EINTERNAL;
	if (cm_buf_put(out, head, 5 + fixed) != CM_OK)
		return CM_EINTERNAL;
	return has_bytes(f->kind) && f->len > 0 ? cm_buf_put(out, f->bytes, f->len) : CM_OK;
}

enum cm_rc cl_spawn_take(
	const struct cm_buf *in, size_t at, struct cl_spawn_frame *f, size_t *taken, struct cm_err *err)
{
	size_t left = in->len - at, len, fixed;
	const uint8_t *p;

	if (left < 5)
		return CM_EMORE;
	p = in->data + at;
	len = cm_get_le32(p);
	*f = (struct cl_spawn_frame){ .kind = (enum cl_spawn_kind)p[4] };
	fixed = fixed_of(f->kind);
	if (fixed == 0 || len < 1 + fixed || len > CL_SPAWN_MAX || (!has_bytes(f->kind) && len > 1 + fixed))
		return cm_fail(err, CM_EDATA, "a frame that is none, of kind %u", p[4]);
	if (left < 4 + len)
		return CM_EMORE;
	f->job = cm_get_le32(p + 5);
	if (f->kind == CL_SPAWN_BEGIN) {
		f->program = cm_get_le32(p + 9);
		f->features = cm_get_le32(p + 13);
		f->classes = cm_get_le32(p + 17);
		f->dimension = cm_get_le32(p + 21);
		f->budget_ns = cm_get_le64(p + 25);
		f->processor_ns = cm_get_le64(p + 33);
		f->keep = p[41];
	} else if (fixed > 4) {
		f->serial = cm_get_le32(p + 9);
		f->lane = fixed > 8 ? cm_get_le32(p + 13) : 0;
	}
	f->bytes = p + 5 + fixed;
	f->len = len - 1 - fixed;
	*taken = 4 + len;
	return CM_OK;
}
