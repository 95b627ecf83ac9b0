/* cl_payload.c - fetches, checks and keeps the payload of a round. */
#include "cl_payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cm_log.h"
#include "cm_text.h"

#define FOLDER   "payloads"
#define NAME_LEN (2 * (size_t)PR_HASH_LEN)

void cl_payload_init(struct cl_payload *p, const char *state_dir)
{
	*p = (struct cl_payload){ .state_dir = state_dir };
	cm_buf_init(&p->bytes, PR_PAYLOAD_MAX);
}

void cl_payload_fini(struct cl_payload *p)
{
	cm_buf_fini(&p->bytes);
	p->state = CL_PAYLOAD_NONE;
}

static bool is_of(const struct cl_payload *p, const struct rd_descriptor *d)
{
	return p->state != CL_PAYLOAD_NONE && memcmp(p->round_id, d->round_id, PR_ROUND_ID_LEN) == 0 &&
	       memcmp(p->hash, d->payload_hash, PR_HASH_LEN) == 0 && p->size == d->payload_size;
}

static bool is_whole(const struct cl_payload *p)
{
	uint8_t hash[PR_HASH_LEN];

	cr_sha256(p->bytes.data, p->bytes.len, hash);
	return p->bytes.len == p->size &&
	       (!CM_CHECKED("client.payload.hash") || memcmp(hash, p->hash, PR_HASH_LEN) == 0);
}

/* ---- what is kept ---- */

static char *path_of(const struct cl_payload *p, const char *name, struct cm_err *err)
{
	char *dir = cm_file_join(p->state_dir, FOLDER), *path = dir ? cm_file_join(dir, name) : NULL;

	free(dir);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

static enum cm_rc keep(const struct cl_payload *p, struct cm_err *err)
{
	char name[NAME_LEN + 1], *path, *dir;
	enum cm_rc rc;

	if (!p->state_dir)
		return CM_OK;
	cm_hex(p->hash, PR_HASH_LEN, name);
	dir = cm_file_join(p->state_dir, FOLDER);
	rc = dir ? cm_file_mkdir(dir, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	free(dir);
	if (rc != CM_OK)
		return rc;
	path = path_of(p, name, err);
	rc = path ? cm_file_write(path, p->bytes.data, p->bytes.len, 0600, err) : err->code;
	free(path);
	return rc;
}

static void try_to_keep(const struct cl_payload *p)
{
	struct cm_err why;

	if (keep(p, &why) != CM_OK)
		cm_log(CM_LOG_WARN,
			"the payload is kept in memory alone: after a restart it is fetched again",
			CM_S("reason", why.msg));
}

/* Read the kept payload; one that is not complete is fetched again. */
static enum cm_rc read_kept(struct cl_payload *p, struct cm_err *err)
{
	char name[NAME_LEN + 1], *path;
	enum cm_rc rc;

	p->bytes.len = 0;
	if (!p->state_dir)
		return CM_OK;
	cm_hex(p->hash, PR_HASH_LEN, name);
	path = path_of(p, name, err);
	rc = path ? cm_file_read(path, PR_PAYLOAD_MAX, &p->bytes, err) : err->code;
	free(path);
	if (rc == CM_OK && is_whole(p))
		p->state = CL_PAYLOAD_HERE;
	else
		p->bytes.len = 0;
	return rc == CM_ENOINPUT || rc == CM_EDATA ? CM_OK : rc;
}

struct sweep {
	const struct cl_payload *p;
	char keep[NAME_LEN + 1]; /* name of the file that is kept; empty if none is */
};

static enum cm_rc sweep_one(void *user, const char *file, struct cm_err *err)
{
	const struct sweep *s = user;
	char *path;

	if (strcmp(file, s->keep) == 0)
		return CM_OK;
	path = path_of(s->p, file, err);
	if (!path)
		return err->code;
	if (unlink(path) != 0 && errno != ENOENT)
		(void)cm_fail(err, CM_EIO, "%s: cannot remove: %s", path, strerror(errno));
	else
		err->code = CM_OK;
	free(path);
	return err->code;
}

/* Erase every kept payload except that of `p`; with `its`, also that one. */
static enum cm_rc sweep(const struct cl_payload *p, bool its, struct cm_err *err)
{
	struct sweep s = { .p = p };
	char *dir;
	enum cm_rc rc;

	if (!p->state_dir)
		return CM_OK;
	if (!its)
		cm_hex(p->hash, PR_HASH_LEN, s.keep);
	dir = cm_file_join(p->state_dir, FOLDER);
	rc = dir ? cm_file_each(dir, sweep_one, &s, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	free(dir);
	return rc;
}

/* ---- fetching ---- */

enum cm_rc cl_payload_begin(struct cl_payload *p, const struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc;

	if (is_of(p, d))
		return CM_OK;
	p->state = CL_PAYLOAD_WANTED;
	p->size = d->payload_size;
	memcpy(p->round_id, d->round_id, PR_ROUND_ID_LEN);
	memcpy(p->hash, d->payload_hash, PR_HASH_LEN);
	rc = sweep(p, false, err);
	return rc == CM_OK ? read_kept(p, err) : rc;
}

bool cl_payload_settled(const struct cl_payload *p, const struct rd_descriptor *d)
{
	return is_of(p, d) && p->state != CL_PAYLOAD_WANTED;
}

void cl_payload_ask(const struct cl_payload *p, Tombola__V1__GetPayload *out)
{
	uint64_t left = p->size - p->bytes.len;

	tombola__v1__get_payload__init(out);
	out->round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, (uint8_t *)(uintptr_t)p->round_id };
	out->offset = p->bytes.len;
	out->length = left < PR_PAYLOAD_PART ? (uint32_t)left : PR_PAYLOAD_PART;
}

enum cm_rc cl_payload_take(struct cl_payload *p, const Tombola__V1__Payload *part, struct cm_err *err)
{
	Tombola__V1__GetPayload asked;

	cl_payload_ask(p, &asked);
	if (p->state != CL_PAYLOAD_WANTED || part->round_id.len != PR_ROUND_ID_LEN ||
		memcmp(part->round_id.data, p->round_id, PR_ROUND_ID_LEN) != 0 ||
		part->offset != asked.offset || part->data.len != asked.length)
		return cm_fail(err, CM_EPROTO, "a part of a payload that was not asked for");
	if (cm_buf_put(&p->bytes, part->data.data, part->data.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (p->bytes.len < p->size)
		return CM_EMORE;
	if (!is_whole(p)) {
		cl_payload_give_up(p, "the shuffler gave other bytes than the analyzer signed");
		return CM_OK;
	}
	p->state = CL_PAYLOAD_HERE;
	try_to_keep(p);
	return CM_OK;
}

void cl_payload_give_up(struct cl_payload *p, const char *why)
{
	if (p->state != CL_PAYLOAD_WANTED)
		return;
	p->state = CL_PAYLOAD_ABSENT;
	p->bytes.len = 0;
	cm_text_copy(p->why, sizeof p->why, why);
}

enum cm_rc cl_payload_forget(struct cl_payload *p, struct cm_err *err)
{
	const char *state_dir = p->state_dir;

	cl_payload_fini(p);
	cl_payload_init(p, state_dir);
	return sweep(p, true, err);
}
