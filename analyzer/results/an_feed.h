/* an_feed.h - the settled rounds of a state directory in the order of the ledger, each once, also those that
 * a running daemon settles meanwhile.
 *
 * The ledger is the queue: a round is settled by one record with a number, after its result is durable, and
 * neither changes.  So the feed reads files only, needs nothing of the daemon, and goes on after any restart
 * of either.  Rounds without an answer (void, refused, missed) are no results and are not in it: a void or
 * missed round may still be answered, and what was handed on cannot be taken back.
 *
 * The cursor names the last round that was handed on, by the number of its record and by its id. */
#pragma once

#include <stdbool.h>

#include "an_event.h"
#include "an_ledger_files.h"

struct an_cursor {
	uint64_t seq;                      /* number of the SETTLE record; 0: no round was handed on */
	uint8_t round_id[PR_ROUND_ID_LEN]; /* id of its round; unknown if !exact */
	bool exact;
};

struct an_feed {
	const struct an_conf *conf; /* borrowed */
	const char *path;           /* path of the cursor's file, borrowed; NULL: no file is kept */
	struct an_cursor at;
	uint64_t seen; /* records up to this one have been looked at */
	bool open;     /* `files` is a reading of the ledger */
	struct an_ledger_files files;
	bool read; /* the ledger has been read; `file` is its file as it was then */
	struct {
		uint64_t device, inode, size;
	} file;
};

/* Start after the round in the file `path` (NULL: no file is kept; a missing file: from the first), or after
 * record `after`, if that is higher.  Reads nothing of the analyzer.  CM_EDATA: the file is no cursor. */
CM_CHECK enum cm_rc an_feed_begin(
	struct an_feed *f, const struct an_conf *conf, const char *path, uint64_t after, struct cm_err *err);
void an_feed_end(struct an_feed *f);

/* Find the next settled round; valid until the next call on the feed; free its result with json_decref.
 * CM_EMORE: there is none yet.  CM_ELATER: the ledger ends before the cursor.  CM_EDATA: the cursor belongs
 * to another ledger, or a result differs from the one in the ledger.  Otherwise the faults of
 * an_ledger_files_open. */
CM_CHECK enum cm_rc an_feed_next(struct an_feed *f, struct an_event *out, struct cm_err *err);
/* Move past a round that has been handed on, and store that durably if there is a file. */
CM_CHECK enum cm_rc an_feed_done(struct an_feed *f, const struct an_event *e, struct cm_err *err);
/* Wait until the ledger has changed, or `ms` milliseconds have passed.  Returns false if nobody reads from
 * the descriptor `out` any more; -1: do not check. */
bool an_feed_wait(const struct an_feed *f, int out, unsigned ms);
/* Wait `ms` milliseconds. */
void an_feed_pause(unsigned ms);
