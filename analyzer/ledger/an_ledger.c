/* an_ledger.c - appends to the privacy ledger and verifies it. */
#include "an_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"

struct entry {
	size_t start; /* offset of the record's bytes within `file` */
	size_t len;
	uint8_t head[PR_HASH_LEN];
};

struct an_ledger {
	char *path;
	int fd; /* -1 if read only */
	bool broken;
	struct cm_buf file; /* the content of the whole file */
	struct rd_chain chain;
	struct entry *entry;
	size_t entries, room;
};

static void header_write(
	const struct rd_chain *before, uint64_t seq, size_t len, uint8_t out[AN_LEDGER_HEADER_LEN])
{
	uint8_t hash[PR_HASH_LEN];

	cm_put_le32(out, AN_LEDGER_RECORD);
	cm_put_le32(out + 4, (uint32_t)len);
	cm_put_le64(out + 8, seq);
	cr_sha256_spans((const struct cr_span[]){ { before->head, PR_HASH_LEN }, { out, 16 } }, 2, hash);
	memcpy(out + 16, hash, 8);
}

static enum cm_rc remember(struct an_ledger *l, size_t start, size_t len, struct cm_err *err)
{
	struct entry *grown = cm_grow(l->entry, l->entries, &l->room, sizeof *grown);

	if (!grown)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	l->entry = grown;
	l->entry[l->entries].start = start;
	l->entry[l->entries].len = len;
	memcpy(l->entry[l->entries].head, l->chain.head, PR_HASH_LEN);
	l->entries++;
	return CM_OK;
}

static enum cm_rc damaged(const struct an_ledger *l, size_t at, const char *what, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA,
		"%s: record %llu at byte %zu: %s; the ledger is damaged, restore it from a copy and let the "
		"shuffler's witness judge the copy",
		l->path, (unsigned long long)l->chain.seq + 1, at, what);
}

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Whether the n bytes at p begin with the header of the next record, or are its beginning.  Any length is
 * right in its length field. */
static bool header_fits(const struct an_ledger *l, const uint8_t *p, size_t n)
{
	uint8_t want[AN_LEDGER_HEADER_LEN];

	header_write(&l->chain, l->chain.seq + 1, n >= 8 ? cm_get_le32(p + 4) : 0, want);
	if (n < 8)
		return memcmp(p, want, n < 4 ? n : 4) == 0;
	return memcmp(p, want, n < AN_LEDGER_HEADER_LEN ? n : AN_LEDGER_HEADER_LEN) == 0;
}

/* Verify the record at `at`: CM_OK sets *next, CM_EMORE: it is torn and the last, CM_EDATA: damage. */
static enum cm_rc verify_record(struct an_ledger *l, size_t at, size_t *next, struct cm_err *err)
{
	const uint8_t *p = l->file.data + at;
	size_t left = l->file.len - at, len;
	struct rd_chain chain = l->chain;
	struct cm_err why = { 0 };

	if (all_zero(p, left))
		return CM_EMORE;
	if (!header_fits(l, p, left))
		return damaged(l, at, "not the header of the next record", err);
	if (left < AN_LEDGER_HEADER_LEN)
		return CM_EMORE;
	len = cm_get_le32(p + 4);
	if (len > PR_RECORD_MAX)
		return damaged(l, at, "longer than a record can be", err);
	if (left - AN_LEDGER_HEADER_LEN < len + PR_HASH_LEN)
		return CM_EMORE;
	p += AN_LEDGER_HEADER_LEN;
	if (rd_chain_extend(&chain, p, len, NULL, &why) != CM_OK)
		return damaged(l, at, why.msg, err);
	if (CM_CHECKED("analyzer.ledger.chain") && memcmp(chain.head, p + len, PR_HASH_LEN) != 0)
		return damaged(l, at, "does not match the hash chain", err);
	l->chain = chain;
	*next = at + AN_LEDGER_HEADER_LEN + len + PR_HASH_LEN;
	return remember(l, at + AN_LEDGER_HEADER_LEN, len, err);
}

static enum cm_rc verify_file(struct an_ledger *l, size_t *end, struct cm_err *err)
{
	size_t at = AN_LEDGER_MAGIC_LEN;
	enum cm_rc rc;

	if (l->file.len >= at && memcmp(l->file.data, "tombola ledger 1\n", at) == 0)
		return cm_fail(err, CM_EDATA,
			"%s: is of an earlier version, whose plans were not signed: give the population a "
			"new name and each party a new state_dir; the results stay readable in this one",
			l->path);
	if (l->file.len < at || memcmp(l->file.data, AN_LEDGER_MAGIC, at) != 0)
		return cm_fail(
			err, CM_EDATA, "%s: record 0 at byte 0: is not a ledger of this version", l->path);
	*end = at;
	while (at < l->file.len) {
		rc = verify_record(l, at, &at, err);
		if (rc == CM_EMORE)
			return CM_OK;
		if (rc != CM_OK)
			return rc;
		*end = at;
	}
	return CM_OK;
}

static enum cm_rc sync_fd(struct an_ledger *l, struct cm_err *err)
{
	int rc;

	do
		rc = fdatasync(l->fd);
	while (rc != 0 && errno == EINTR);
	if (rc == 0)
		return CM_OK;
	l->broken = true;
	return cm_fail(err, CM_EIO, "%s: fdatasync: %s", l->path, strerror(errno));
}

static enum cm_rc cut_tail(struct an_ledger *l, size_t end, struct cm_err *err)
{
	if (ftruncate(l->fd, (off_t)end) != 0)
		return cm_fail(
			err, CM_EIO, "%s: cannot cut the torn last record: %s", l->path, strerror(errno));
	l->file.len = end;
	return CM_OK;
}

enum cm_rc an_ledger_exists(const char *path, bool *out, struct cm_err *err)
{
	struct stat st;

	/* Do not use access(), which checks with the rights of the real user and without capabilities. */
	*out = stat(path, &st) == 0;
	return *out || errno == ENOENT ? CM_OK : cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
}

static enum cm_rc read_file(struct an_ledger *l, bool write, struct cm_err *err)
{
	bool there;
	enum cm_rc known = an_ledger_exists(l->path, &there, err);

	if (known != CM_OK)
		return known;
	if (!there) {
		/* Write the first line atomically, so that a crash leaves no half of it. */
		if (write) {
			enum cm_rc rc =
				cm_file_write(l->path, AN_LEDGER_MAGIC, AN_LEDGER_MAGIC_LEN, 0600, err);
			if (rc != CM_OK)
				return rc;
		} else {
			return cm_buf_put(&l->file, AN_LEDGER_MAGIC, AN_LEDGER_MAGIC_LEN);
		}
	}
	return cm_file_read(l->path, AN_LEDGER_FILE_MAX, &l->file, err);
}

enum cm_rc an_ledger_open(
	const char *path, bool write, struct an_ledger **out, size_t *torn, struct cm_err *err)
{
	struct an_ledger *l = calloc(1, sizeof *l);
	size_t end = 0;
	enum cm_rc rc;

	if (!l || !(l->path = strdup(path))) {
		free(l);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	l->fd = -1;
	cm_buf_init(&l->file, AN_LEDGER_FILE_MAX);
	rc = read_file(l, write, err);
	if (rc == CM_OK)
		rc = verify_file(l, &end, err);
	if (rc == CM_OK && write) {
		l->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
		if (l->fd < 0)
			rc = cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	}
	if (rc == CM_OK) {
		*torn = l->file.len - end;
		if (*torn > 0 && write)
			rc = cut_tail(l, end, err);
		/* A process killed between write and sync leaves a complete record that may not be durable.
		 * Sync it before anything depends on it. */
		if (rc == CM_OK && write)
			rc = sync_fd(l, err);
	}
	if (rc != CM_OK) {
		an_ledger_free(l);
		return rc;
	}
	l->file.len = end;
	*out = l;
	return CM_OK;
}

void an_ledger_free(struct an_ledger *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		(void)close(l->fd);
	cm_buf_fini(&l->file);
	free(l->entry);
	free(l->path);
	free(l);
}

enum cm_rc an_ledger_append(struct an_ledger *l, struct rd_record *r, struct cm_err *err)
{
	uint8_t header[AN_LEDGER_HEADER_LEN];
	struct rd_chain chain = l->chain;
	struct cm_buf body;
	size_t start = l->file.len;
	enum cm_rc rc;

	if (l->fd < 0 || l->broken)
		return cm_fail(err, CM_EIO, "%s: takes no more records", l->path);
	cm_buf_init(&body, PR_RECORD_MAX);
	r->seq = l->chain.seq + 1;
	rc = rd_record_encode(r, &body, err);
	if (rc == CM_OK)
		rc = rd_chain_extend(&chain, body.data, body.len, NULL, err);
	if (rc != CM_OK)
		goto out;
	header_write(&l->chain, r->seq, body.len, header);
	if (cm_buf_put(&l->file, header, sizeof header) != CM_OK ||
		cm_buf_put(&l->file, body.data, body.len) != CM_OK ||
		cm_buf_put(&l->file, chain.head, PR_HASH_LEN) != CM_OK) {
		l->file.len = start;
		rc = cm_fail(err, CM_EINTERNAL, "%s: no room for another record", l->path);
		goto out;
	}
	if (!cm_file_put(l->fd, l->file.data + start, l->file.len - start))
		rc = cm_fail(err, CM_EIO, "%s: cannot append: %s", l->path, strerror(errno));
	if (rc == CM_OK)
		rc = sync_fd(l, err);
	if (rc == CM_OK) {
		l->chain = chain;
		rc = remember(l, start + AN_LEDGER_HEADER_LEN, body.len, err);
	}
	if (rc != CM_OK)
		l->broken = true;
out:
	cm_buf_fini(&body);
	return rc;
}

const struct rd_chain *an_ledger_chain(const struct an_ledger *l)
{
	return &l->chain;
}

struct an_entry an_ledger_entry(const struct an_ledger *l, uint64_t seq)
{
	const struct entry *e = &l->entry[seq - 1];
	struct an_entry out = {
		.bytes = l->file.data + e->start, .len = e->len, .offset = e->start - AN_LEDGER_HEADER_LEN
	};

	memcpy(out.head, e->head, PR_HASH_LEN);
	return out;
}

bool an_ledger_is_prefix(const struct an_ledger *l, const struct rd_chain *point)
{
	if (point->seq == 0)
		return all_zero(point->head, PR_HASH_LEN);
	return point->seq <= l->chain.seq &&
	       memcmp(l->entry[point->seq - 1].head, point->head, PR_HASH_LEN) == 0;
}
