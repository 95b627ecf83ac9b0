/* an_feed.c - reads settled rounds from the ledger, and keeps a cursor. */
#include "an_feed.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "an_result.h"
#include "cm_cli.h"
#include "cm_file.h"

#define CURSOR_MAX 256u
#define LOOK_MS    250 /* time between two looks at the ledger's size */

static enum cm_rc parse(struct an_feed *f, const struct cm_buf *b, struct cm_err *err)
{
	char text[CURSOR_MAX + 1], seq[20], id[2 * PR_ROUND_ID_LEN + 1];
	int end = -1;

	memcpy(text, b->data, b->len);
	text[b->len] = '\0';
	if (sscanf(text, "tombola results 1\nseq %19[0-9]\nround %32[0-9a-f]\n%n", seq, id, &end) != 2 ||
		end != (int)b->len || cm_cli_u64(seq, "seq", 1, INT64_MAX, &f->at.seq, err) != CM_OK ||
		cm_unhex(id, f->at.round_id, PR_ROUND_ID_LEN) != CM_OK)
		return cm_fail(err, CM_EDATA,
			"%s: is no cursor; without the file all results are handed on again, with the same "
			"ids",
			f->path);
	f->at.exact = true;
	return CM_OK;
}

static enum cm_rc load(struct an_feed *f, struct cm_err *err)
{
	struct stat st;
	struct cm_buf b;
	enum cm_rc rc;

	if (!f->path || stat(f->path, &st) != 0)
		return CM_OK;
	cm_buf_init(&b, CURSOR_MAX);
	rc = cm_file_read(f->path, CURSOR_MAX, &b, err);
	if (rc == CM_OK)
		rc = parse(f, &b, err);
	cm_buf_fini(&b);
	return rc;
}

enum cm_rc an_feed_begin(
	struct an_feed *f, const struct an_conf *conf, const char *path, uint64_t after, struct cm_err *err)
{
	enum cm_rc rc;

	*f = (struct an_feed){ .conf = conf, .path = path };
	rc = load(f, err);
	if (rc == CM_OK && after > f->at.seq)
		f->at = (struct an_cursor){ .seq = after };
	f->seen = f->at.seq;
	return rc;
}

static void close_files(struct an_feed *f)
{
	if (f->open)
		an_ledger_files_close(&f->files);
	f->open = false;
}

void an_feed_end(struct an_feed *f)
{
	close_files(f);
}

/* Whether the file differs from the one that was read. */
static bool changed(const struct an_feed *f, struct stat *st)
{
	char *path = cm_file_join(f->conf->state_dir, "ledger");
	bool there = path && stat(path, st) == 0;

	free(path);
	return there && (f->file.inode != st->st_ino || f->file.device != st->st_dev ||
				f->file.size != (uint64_t)st->st_size);
}

/* The cursor must name a settled round of this ledger. */
static enum cm_rc check_cursor(const struct an_feed *f, struct cm_err *err)
{
	uint64_t last = an_ledger_chain(f->files.ledger)->seq;
	struct rd_record r;
	struct an_entry e;
	bool same;
	enum cm_rc rc;

	/* A power cut may have taken the last record before it was durable; the daemon then writes it
	 * again. */
	if (f->at.seq > last)
		return cm_fail(err, CM_ELATER,
			"the ledger has %" PRIu64 " records, and results up to record %" PRIu64
			" have been handed on: is it an older copy?",
			last, f->at.seq);
	if (!f->at.exact)
		return CM_OK;
	e = an_ledger_entry(f->files.ledger, f->at.seq);
	rc = rd_record_decode(e.bytes, e.len, &r, err);
	if (rc != CM_OK)
		return rc;
	same = r.kind == RD_SETTLE && memcmp(r.round_id, f->at.round_id, PR_ROUND_ID_LEN) == 0;
	rd_record_fini(&r);
	if (same)
		return CM_OK;
	return cm_fail(err, CM_EDATA,
		"%s: is the cursor of another ledger than that of %s; without the file all results are "
		"handed on, with their own ids",
		f->path ? f->path : "cursor", f->conf->state_dir);
}

static enum cm_rc open_files(struct an_feed *f, struct cm_err *err)
{
	struct stat st = { 0 };
	enum cm_rc rc;

	if (!changed(f, &st) && f->read)
		return CM_EMORE;
	rc = an_ledger_files_open(f->conf, false, &f->files, err);
	f->open = true;
	if (rc == CM_OK)
		rc = check_cursor(f, err);
	/* Note the size before reading, so that a record appended meanwhile shows as another size. */
	f->read = true;
	f->file.device = st.st_dev;
	f->file.inode = st.st_ino;
	f->file.size = (uint64_t)st.st_size;
	return rc;
}

/* Make the event of record seq.  CM_EMORE: the record settles nothing. */
static enum cm_rc look(struct an_feed *f, uint64_t seq, struct an_event *out, struct cm_err *err)
{
	struct an_entry e = an_ledger_entry(f->files.ledger, seq);
	struct rd_record r;
	enum cm_rc rc = rd_record_decode(e.bytes, e.len, &r, err);

	if (rc != CM_OK)
		return rc;
	*out = (struct an_event){ .seq = seq, .settled_ms = r.time_ms };
	if (r.kind == RD_SETTLE)
		out->r = an_state_find(&f->files.state, r.round_id);
	rd_record_fini(&r);
	return out->r ? an_result_load(f->conf->state_dir, out->r, &out->result, err) : CM_EMORE;
}

enum cm_rc an_feed_next(struct an_feed *f, struct an_event *out, struct cm_err *err)
{
	enum cm_rc rc = f->open ? CM_OK : open_files(f, err);

	while (rc == CM_OK && f->seen < an_ledger_chain(f->files.ledger)->seq) {
		rc = look(f, f->seen + 1, out, err);
		if (rc == CM_OK)
			return CM_OK;
		if (rc == CM_EMORE) {
			f->seen++;
			rc = CM_OK;
		}
	}
	close_files(f);
	/* After a fault look again, whether or not the ledger has changed, since a short read may succeed
	 * later. */
	if (rc != CM_OK && rc != CM_EMORE && rc != CM_ELATER)
		f->read = false;
	return rc == CM_OK ? CM_EMORE : rc;
}

enum cm_rc an_feed_done(struct an_feed *f, const struct an_event *e, struct cm_err *err)
{
	char text[CURSOR_MAX], id[2 * PR_ROUND_ID_LEN + 1];
	int n;

	f->at = (struct an_cursor){ .seq = e->seq, .exact = true };
	memcpy(f->at.round_id, e->r->descriptor.round_id, PR_ROUND_ID_LEN);
	f->seen = e->seq;
	if (!f->path)
		return CM_OK;
	cm_hex(f->at.round_id, PR_ROUND_ID_LEN, id);
	n = snprintf(text, sizeof text, "tombola results 1\nseq %" PRIu64 "\nround %s\n", e->seq, id);
	return cm_file_write(f->path, text, (size_t)n, 0600, err);
}

bool an_feed_wait(const struct an_feed *f, int out, unsigned ms)
{
	struct stat st;

	for (unsigned waited = 0; waited < ms && (!f->read || !changed(f, &st)); waited += LOOK_MS) {
		struct pollfd reader = { .fd = out };

		if (poll(&reader, 1, LOOK_MS) > 0 && (reader.revents & (POLLERR | POLLNVAL)) != 0)
			return false;
	}
	return true;
}

void an_feed_pause(unsigned ms)
{
	(void)poll(NULL, 0, (int)ms);
}
