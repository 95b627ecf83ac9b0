/* sh_leaves.c - makes the leaves of a sealed round, proves inclusion from them, and erases them.
 *
 * Making sorts the hashes, builds the Merkle tree, and writes both to the leaves file.  Pages of leaves are
 * made on all cores. */
#include "sh_leaves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_file.h"
#include "sh_leaves_file.h"

#define CHUNK_PAGES 64u /* number of pages of leaves that are made together */
#define HEX_LEN     ((size_t)2 * PR_ROUND_ID_LEN)

/* ---- Making ---- */

/* The page of a level above the leaves that is being filled. */
struct level {
	uint8_t page[RD_SORT_PAGE][PR_HASH_LEN];
	size_t filled;
	uint64_t pages; /* number of pages of the level that were written */
};

/* Pages of leaves that are made together, in any order, since they do not depend on each other. */
struct chunk {
	uint8_t page[CHUNK_PAGES][RD_SORT_PAGE][PR_HASH_LEN];
	uint8_t node[CHUNK_PAGES][PR_HASH_LEN]; /* the root over the hashes of each page */
	size_t filled;                          /* number of hashes in the chunk */
	uint64_t pages;                         /* number of pages of leaves before this chunk */
};

struct sh_leaves_maker {
	const struct sh_leaves_place *place;
	struct sh_leaves_file file, runs; /* the leaves file; and sorted runs spilled to disk under a key kept
					   * only in memory */
	struct cr_rng rng;
	struct rd_spill spill;
	struct rd_sort *sort;
	struct rd_tree tree;       /* the tree, if no leaves are kept */
	uint8_t root[PR_HASH_LEN]; /* root of the top level's page, if leaves are kept */
	uint64_t added;
	struct chunk leaves;
	/* above[i] is the page being filled of level i + 1 of the file */
	struct level above[SH_LEVELS_MAX - 1];
};

static enum cm_rc spill_put(void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *err)
{
	const struct sh_leaves_maker *m = ctx;

	(void)len; /* it is the length of a page of hashes */
	return sh_leaves_file_write(&m->runs, page, bytes, err);
}

static enum cm_rc spill_get(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *err)
{
	(void)len;
	return sh_leaves_file_read(&((const struct sh_leaves_maker *)ctx)->runs, page, bytes, err);
}

static enum cm_rc create(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	const char *suffix, bool nameless, int *fd, struct cm_err *err)
{
	char *path = sh_leaves_file_path(place, round_id, suffix, err);

	if (!path)
		return err->code;
	(void)unlink(path); /* a process that was killed here may have left the file */
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	enum cm_rc rc = *fd >= 0 ? CM_OK : cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	if (rc == CM_OK && nameless && unlink(path) != 0)
		rc = cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}

/* Open the file for runs; a round that fits one run in memory spills nothing. */
static enum cm_rc open_runs(struct sh_leaves_maker *m, struct cm_err *err)
{
	if (!m->place->dir || m->file.n <= RD_SORT_RUN)
		return CM_OK;
	m->spill = (struct rd_spill){ m, spill_put, spill_get };
	m->rng.fill(m->rng.ctx, m->runs.key.bytes, sizeof m->runs.key.bytes);
	return create(m->place, m->file.round_id, ".runs", true, &m->runs.fd, err);
}

static enum cm_rc open_kept(struct sh_leaves_maker *m, struct cm_err *err)
{
	char name[SH_LEAVES_NAME_LEN];

	if (!m->place->dir || m->place->window_ms == 0)
		return CM_OK;
	enum cm_rc rc = sh_leaves_erase(m->place, m->file.round_id, err);
	/* Create the file before its key: after a crash the cleanup finds both by the file. */
	if (rc == CM_OK)
		rc = create(m->place, m->file.round_id, ".leaves", false, &m->file.fd, err);
	if (rc == CM_OK)
		rc = sh_leaves_file_begin(&m->file, err);
	if (rc == CM_OK)
		rc = cm_file_sync_dir(m->place->dir, err);
	sh_leaves_file_key(m->file.round_id, name);
	return rc == CM_OK ? cr_keyfile_create(m->place->dir, name, &m->rng, &m->file.key, err) : rc;
}

enum cm_rc sh_leaves_begin(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint64_t n, int64_t sealed_ms, struct sh_leaves_maker **out, struct cm_err *err)
{
	struct sh_leaves_maker *m = calloc(1, sizeof *m);

	if (!m)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	m->place = place;
	m->file.fd = m->runs.fd = -1;
	m->file.sealed_ms = sealed_ms;
	memcpy(m->file.round_id, round_id, PR_ROUND_ID_LEN);
	memcpy(m->runs.round_id, round_id, PR_ROUND_ID_LEN);
	sh_leaves_file_layout(&m->file, n);
	rd_tree_init(&m->tree);
	enum cm_rc rc = cr_rng_system(&m->rng, err);
	if (rc == CM_OK)
		rc = open_runs(m, err);
	if (rc == CM_OK)
		rc = open_kept(m, err);
	if (rc == CM_OK &&
		!(m->sort = rd_sort_new(PR_HASH_LEN, RD_SORT_RUN, m->runs.fd >= 0 ? &m->spill : NULL)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK) {
		sh_leaves_maker_free(m);
		return rc;
	}
	*out = m;
	return CM_OK;
}

void sh_leaves_maker_free(struct sh_leaves_maker *m)
{
	if (!m)
		return;
	rd_sort_free(m->sort);
	if (m->file.fd >= 0)
		(void)close(m->file.fd);
	if (m->runs.fd >= 0)
		(void)close(m->runs.fd);
	cr_key_fini(&m->file.key);
	cr_key_fini(&m->runs.key);
	free(m);
}

enum cm_rc sh_leaves_add(
	struct sh_leaves_maker *m, const uint8_t (*hashes)[PR_HASH_LEN], size_t n, struct cm_err *err)
{
	m->added += n;
	return rd_sort_add(m->sort, hashes, n, err);
}

static enum cm_rc end_page(struct sh_leaves_maker *m, unsigned at, struct cm_err *err);

/* Pass the root over a page of level `at` to the level above.  If no leaves are kept, everything above them
 * is one tree: pages are subtrees of one size, except for the last, so the root over their roots is the
 * root over the leaves. */
static enum cm_rc pass_up(
	struct sh_leaves_maker *m, unsigned at, const uint8_t node[PR_HASH_LEN], struct cm_err *err)
{
	if (m->file.fd < 0) {
		rd_tree_add(&m->tree, node);
		return CM_OK;
	}
	if (at + 1 == m->file.levels) {
		memcpy(m->root, node, PR_HASH_LEN);
		return CM_OK;
	}
	struct level *next = &m->above[at];
	memcpy(next->page[next->filled++], node, PR_HASH_LEN);
	return next->filled == RD_SORT_PAGE ? end_page(m, at + 1, err) : CM_OK;
}

/* End the page of level `at`, which is above the leaves, and write it; the top level gives the tree's
 * root. */
static enum cm_rc end_page(struct sh_leaves_maker *m, unsigned at, struct cm_err *err)
{
	struct level *l = &m->above[at - 1];
	struct rd_tree over;
	uint8_t node[PR_HASH_LEN];

	if (l->filled == 0)
		return CM_OK;
	if (l->filled < RD_SORT_PAGE)
		memset(l->page[l->filled], 0, (RD_SORT_PAGE - l->filled) * PR_HASH_LEN);
	enum cm_rc rc = sh_leaves_file_write(&m->file, m->file.base[at] + l->pages, l->page, err);
	rd_tree_init(&over);
	for (size_t i = 0; i < l->filled; i++)
		rd_tree_add(&over, l->page[i]);
	rd_tree_root(&over, node);
	l->pages++;
	l->filled = 0;
	return rc == CM_OK ? pass_up(m, at, node, err) : rc;
}

/* Make a page of leaves: compute its root, and write the page. */
static enum cm_rc leaf_page(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	struct sh_leaves_maker *m = ctx;
	struct chunk *c = &m->leaves;
	size_t left = c->filled - piece * RD_SORT_PAGE, n = left < RD_SORT_PAGE ? left : RD_SORT_PAGE;
	struct rd_tree over;
	uint8_t leaf[PR_HASH_LEN];

	(void)thread;
	rd_tree_init(&over);
	for (size_t i = 0; i < n; i++) {
		rd_tree_leaf(c->page[piece][i], PR_HASH_LEN, leaf);
		rd_tree_add(&over, leaf);
	}
	rd_tree_root(&over, c->node[piece]);
	if (m->file.fd < 0)
		return CM_OK;
	if (n < RD_SORT_PAGE)
		memset(c->page[piece][n], 0, (RD_SORT_PAGE - n) * PR_HASH_LEN);
	return sh_leaves_file_write(&m->file, m->file.base[0] + c->pages + piece, c->page[piece], err);
}

static enum cm_rc end_chunk(struct sh_leaves_maker *m, struct cm_crew *crew, struct cm_err *err)
{
	struct chunk *c = &m->leaves;
	size_t pages = (c->filled + RD_SORT_PAGE - 1) / RD_SORT_PAGE;
	enum cm_rc rc = pages > 0 ? cm_crew_run(crew, leaf_page, m, pages, err) : CM_OK;

	for (size_t i = 0; rc == CM_OK && i < pages; i++)
		rc = pass_up(m, 0, c->node[i], err);
	c->pages += pages;
	c->filled = 0;
	return rc;
}

static enum cm_rc keep(
	struct sh_leaves_maker *m, struct cm_crew *crew, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	struct chunk *c = &m->leaves;

	memcpy(c->page[c->filled / RD_SORT_PAGE][c->filled % RD_SORT_PAGE], hash, PR_HASH_LEN);
	return ++c->filled == (size_t)CHUNK_PAGES * RD_SORT_PAGE ? end_chunk(m, crew, err) : CM_OK;
}

enum cm_rc sh_leaves_end(
	struct sh_leaves_maker *m, struct cm_crew *crew, uint8_t root[PR_HASH_LEN], struct cm_err *err)
{
	const uint8_t *hash;
	enum cm_rc rc = m->added == m->file.n
				? rd_sort_done(m->sort, err)
				: cm_fail(err, CM_EDATA, "%llu messages are stored, not %llu",
					  (unsigned long long)m->added, (unsigned long long)m->file.n);

	while (rc == CM_OK && (rc = rd_sort_next(m->sort, &hash, err)) == CM_OK)
		rc = keep(m, crew, hash, err);
	rc = rc == CM_EMORE ? CM_OK : rc;
	if (rc == CM_OK)
		rc = end_chunk(m, crew, err);
	for (unsigned at = 1; rc == CM_OK && m->file.fd >= 0 && at < m->file.levels; at++)
		rc = end_page(m, at, err);
	if (rc == CM_OK && m->file.fd >= 0 && fsync(m->file.fd) != 0)
		rc = cm_fail(err, CM_EIO, "leaves: cannot be made durable: %s", strerror(errno));
	if (m->file.fd >= 0 && m->file.n > 0)
		memcpy(root, m->root, PR_HASH_LEN);
	else
		rd_tree_root(&m->tree, root);
	return rc;
}

/* ---- Proving ---- */

struct sh_leaves {
	struct sh_leaves_file file;
	/* 1 + the number of the page of each level that is in memory; 0: there is none */
	uint64_t loaded[SH_LEVELS_MAX];
	uint8_t page[SH_LEVELS_MAX][RD_SORT_PAGE][PR_HASH_LEN];
};

static enum cm_rc open_file(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_leaves_file *f, struct cm_err *err)
{
	char *path = place->dir ? sh_leaves_file_path(place, round_id, ".leaves", err) : NULL;

	memcpy(f->round_id, round_id, PR_ROUND_ID_LEN);
	f->fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	enum cm_rc rc = f->fd >= 0 ? sh_leaves_file_open(f, err)
			: !path || errno == ENOENT
				? cm_fail(err, CM_ENOINPUT, "no leaves of this round are kept")
				: cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}

enum cm_rc sh_leaves_open(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_leaves **out, struct cm_err *err)
{
	struct sh_leaves *l = calloc(1, sizeof *l);
	char name[SH_LEAVES_NAME_LEN];

	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc = open_file(place, round_id, &l->file, err);
	sh_leaves_file_key(round_id, name);
	if (rc == CM_OK)
		rc = cr_keyfile_load(place->dir, name, &l->file.key, err);
	if (rc != CM_OK) {
		sh_leaves_close(l);
		return rc;
	}
	*out = l;
	return CM_OK;
}

void sh_leaves_close(struct sh_leaves *l)
{
	if (!l)
		return;
	if (l->file.fd >= 0)
		(void)close(l->file.fd);
	cr_key_fini(&l->file.key);
	free(l);
}

uint64_t sh_leaves_count(const struct sh_leaves *l)
{
	return l->file.n;
}

static enum cm_rc load(struct sh_leaves *l, unsigned level, uint64_t page, struct cm_err *err)
{
	if (l->loaded[level] == page + 1)
		return CM_OK;
	l->loaded[level] = 0;
	enum cm_rc rc = sh_leaves_file_read(&l->file, l->file.base[level] + page, l->page[level], err);
	if (rc == CM_OK)
		l->loaded[level] = page + 1;
	return rc;
}

/* Count the leaves below `hash`: find the page by binary search, then the place within it. */
static enum cm_rc find(
	struct sh_leaves *l, const uint8_t hash[PR_HASH_LEN], uint64_t *place, struct cm_err *err)
{
	uint64_t low = 0, high = (l->file.n + RD_SORT_PAGE - 1) >> SH_PAGE_BITS;

	/* Invariant: page `low` begins below the hash or is the first; page `high` does not begin below it,
	 * or is past the last. */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		enum cm_rc rc = load(l, 0, middle, err);
		if (rc != CM_OK)
			return rc;
		if (memcmp(l->page[0][0], hash, PR_HASH_LEN) < 0)
			low = middle;
		else
			high = middle;
	}
	enum cm_rc rc = load(l, 0, low, err);
	for (*place = low << SH_PAGE_BITS; rc == CM_OK && *place < l->file.n; ++*place)
		if (*place >> SH_PAGE_BITS != low ||
			memcmp(l->page[0][*place % RD_SORT_PAGE], hash, PR_HASH_LEN) >= 0)
			break;
	return rc;
}

/* Read a leaf and its path. */
static enum cm_rc read_leaf(
	struct sh_leaves *l, uint64_t index, uint8_t *hash, uint8_t *path, struct cm_err *err)
{
	uint8_t node[RD_SORT_PAGE][PR_HASH_LEN];

	for (unsigned level = 0; level < l->file.levels; level++, index >>= SH_PAGE_BITS) {
		uint64_t page = index >> SH_PAGE_BITS, left = l->file.count[level] - (page << SH_PAGE_BITS);
		uint64_t n = left < RD_SORT_PAGE ? left : RD_SORT_PAGE, at = index % RD_SORT_PAGE;
		enum cm_rc rc = load(l, level, page, err);
		if (rc != CM_OK)
			return rc;
		if (level == 0)
			memcpy(hash, l->page[0][at], PR_HASH_LEN);
		for (uint64_t i = 0; i < n; i++)
			if (level == 0)
				rd_tree_leaf(l->page[0][i], PR_HASH_LEN, node[i]);
			else
				memcpy(node[i], l->page[level][i], PR_HASH_LEN);
		rd_tree_path(node, n, at, (uint8_t(*)[PR_HASH_LEN])path);
		path += (size_t)rd_tree_path_len(at, n) * PR_HASH_LEN;
	}
	return CM_OK;
}

enum cm_rc sh_leaves_prove(
	struct sh_leaves *l, const uint8_t hash[PR_HASH_LEN], uint8_t *entry, struct cm_err *err)
{
	struct rd_tree_entry e = rd_entry_at(entry, l->file.n);
	uint64_t place;

	memset(entry, 0, rd_entry_len(l->file.n));
	enum cm_rc rc = find(l, hash, &place, err);
	if (rc != CM_OK)
		return rc;
	cm_put_le64(e.place, place);
	*e.kind = RD_FOUND_OUT;
	if (place < l->file.n) {
		rc = read_leaf(l, place, e.second, e.second_path, err);
		if (rc == CM_OK && memcmp(e.second, hash, PR_HASH_LEN) == 0) {
			size_t half = (size_t)(e.second - e.first);
			*e.kind = RD_FOUND_IN;
			memcpy(e.first, e.second, half);
			memset(e.second, 0, half);
			return CM_OK;
		}
	}
	return rc == CM_OK && place > 0 ? read_leaf(l, place - 1, e.first, e.first_path, err) : rc;
}

/* ---- Erasing ---- */

enum cm_rc sh_leaves_erase(
	const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char name[SH_LEAVES_NAME_LEN];

	if (!place->dir)
		return CM_OK;
	char *path = sh_leaves_file_path(place, round_id, ".leaves", err);
	if (!path)
		return err->code;
	sh_leaves_file_key(round_id, name);
	enum cm_rc rc = cr_keyfile_erase(place->dir, name, err);
	if (rc == CM_OK && unlink(path) != 0 && errno != ENOENT)
		rc = cm_fail(err, CM_EIO, "%s: cannot remove: %s", path, strerror(errno));
	free(path);
	return rc == CM_OK ? cm_file_sync_dir(place->dir, err) : rc;
}

struct each {
	const struct sh_leaves_place *place;
	sh_leaves_fn *fn;
	void *user;
};

static enum cm_rc on_file(void *user, const char *file, struct cm_err *err)
{
	const struct each *e = user;
	uint8_t round_id[PR_ROUND_ID_LEN];
	char name[2 * PR_ROUND_ID_LEN + 1];
	struct sh_leaves_file f = { .fd = -1 };

	if (strlen(file) < sizeof name - 1 || strcmp(file + sizeof name - 1, ".leaves") != 0)
		return CM_OK;
	memcpy(name, file, sizeof name - 1);
	name[sizeof name - 1] = '\0';
	if (cm_unhex(name, round_id, sizeof round_id) != CM_OK)
		return CM_OK;
	if (open_file(e->place, round_id, &f, err) != CM_OK)
		f.sealed_ms = 0;
	if (f.fd >= 0)
		(void)close(f.fd);
	return e->fn(e->user, round_id, f.sealed_ms, err);
}

enum cm_rc sh_leaves_each(
	const struct sh_leaves_place *place, sh_leaves_fn *fn, void *user, struct cm_err *err)
{
	struct each e = { place, fn, user };

	return place->dir ? cm_file_each(place->dir, on_file, &e, err) : CM_OK;
}
