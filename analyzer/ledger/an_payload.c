/* an_payload.c - keeps the bytes of payloads whose rounds are under way. */
#include "an_payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "co_compute.h"

#define FOLDER   "payloads"
#define NAME_LEN (2 * (size_t)PR_HASH_LEN)

static char *path_of(const char *state_dir, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	char name[sizeof FOLDER + NAME_LEN + 1], *path;

	memcpy(name, FOLDER "/", sizeof FOLDER);
	cm_hex(hash, PR_HASH_LEN, name + sizeof FOLDER);
	path = cm_file_join(state_dir, name);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

static bool is_under_way(const struct an_round_state *r)
{
	return (r->stage == AN_RESERVED || r->stage == AN_CHARGED) && r->descriptor.payload_size > 0;
}

enum cm_rc an_payload_check(
	const struct an_round_state *r, const struct an_payload *given, struct cm_err *err)
{
	const struct pl_round *p = r->plan;
	uint8_t hash[PR_HASH_LEN];

	if (!given->bytes)
		return an_round_may_be_tried(r) && p->payload_max > 0
			       ? cm_fail(err, CM_EUSAGE,
					 "round %u (%s) waits for its payload: --payload FILE", p->number,
					 p->label)
			       : CM_OK;
	if (p->payload_max == 0)
		return cm_fail(err, CM_EUSAGE, "round %u (%s) has no payload", p->number, p->label);
	if (given->len == 0 || given->len > p->payload_max)
		return cm_fail(err, CM_EDATA,
			"the payload of round %u (%s) has %zu bytes: 1 to %llu are possible", p->number,
			p->label, given->len, (unsigned long long)p->payload_max);
	if (co_payload_check(&p->computing, &p->query, given->bytes, given->len, err) != CM_OK)
		return cm_context(err, "the payload of round %u (%s)", p->number, p->label);
	cr_sha256(given->bytes, given->len, hash);
	if (is_under_way(r) && memcmp(hash, r->descriptor.payload_hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EDATA,
			"round %u (%s) is under way with another payload; without --payload it goes on",
			p->number, p->label);
	return CM_OK;
}

enum cm_rc an_payload_keep(
	const char *state_dir, const struct an_payload *given, uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	char *dir = cm_file_join(state_dir, FOLDER), *path;
	enum cm_rc rc = dir ? cm_file_mkdir(dir, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	free(dir);
	if (rc != CM_OK)
		return rc;
	cr_sha256(given->bytes, given->len, hash);
	path = path_of(state_dir, hash, err);
	rc = path ? cm_file_write(path, given->bytes, given->len, 0600, err) : err->code;
	free(path);
	return rc;
}

enum cm_rc an_payload_load(
	const char *state_dir, const struct rd_descriptor *d, struct cm_buf *out, struct cm_err *err)
{
	char *path = path_of(state_dir, d->payload_hash, err);
	size_t start = out->len;
	uint8_t hash[PR_HASH_LEN];
	enum cm_rc rc = path ? cm_file_read(path, PR_PAYLOAD_MAX, out, err) : err->code;

	if (rc == CM_OK) {
		cr_sha256(out->data + start, out->len - start, hash);
		if (CM_CHECKED("analyzer.payload.hash") && memcmp(hash, d->payload_hash, PR_HASH_LEN) != 0)
			rc = cm_fail(err, CM_EDATA, "%s: is not the payload of its round's descriptor", path);
	}
	if (rc != CM_OK)
		out->len = start;
	free(path);
	return rc;
}

static bool is_needed(
	const struct an_state *s, const uint8_t hash[PR_HASH_LEN], const struct rd_descriptor *but)
{
	for (size_t i = 0; i < an_state_rounds(s); i++) {
		const struct an_round_state *r = an_state_at(s, i);

		if (is_under_way(r) && &r->descriptor != but &&
			memcmp(r->descriptor.payload_hash, hash, PR_HASH_LEN) == 0)
			return true;
	}
	return false;
}

static enum cm_rc erase(const char *state_dir, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	char *path = path_of(state_dir, hash, err);
	enum cm_rc rc = path ? CM_OK : err->code;

	if (rc == CM_OK && unlink(path) != 0 && errno != ENOENT)
		rc = cm_fail(err, CM_EIO, "%s: cannot remove: %s", path, strerror(errno));
	free(path);
	return rc;
}

enum cm_rc an_payload_erase(
	const char *state_dir, const struct an_state *s, const struct rd_descriptor *d, struct cm_err *err)
{
	return d->payload_size == 0 || is_needed(s, d->payload_hash, d)
		       ? CM_OK
		       : erase(state_dir, d->payload_hash, err);
}

struct sweep {
	const char *state_dir;
	const struct an_state *state;
};

static enum cm_rc sweep_one(void *user, const char *file, struct cm_err *err)
{
	const struct sweep *s = user;
	uint8_t hash[PR_HASH_LEN];

	if (strlen(file) != NAME_LEN || cm_unhex(file, hash, PR_HASH_LEN) != CM_OK ||
		is_needed(s->state, hash, NULL))
		return CM_OK;
	return erase(s->state_dir, hash, err);
}

enum cm_rc an_payloads_sweep(const char *state_dir, const struct an_state *s, struct cm_err *err)
{
	struct sweep sweep = { state_dir, s };
	char *dir = cm_file_join(state_dir, FOLDER);
	enum cm_rc rc = dir ? cm_file_sweep(dir, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = cm_file_each(dir, sweep_one, &sweep, err);
	free(dir);
	return rc;
}
