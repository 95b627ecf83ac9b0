/* an_feed.h - delivers the settled rounds of a state directory in the order of the ledger, each once,
 * including those that a running daemon settles meanwhile.
 *
 * The ledger is the queue: a round is settled by one record with a number, after its result is durable, and
 * neither changes.  So the feed reads files only, needs nothing from the daemon, and continues after any
 * restart of the feed or the daemon.  Rounds without an answer (void, refused, missed) are not delivered: a
 * void or missed round may still be answered, and a delivered result cannot be taken back.
 *
 * The cursor names the last round that was delivered, by the number of its record and by its id. */
#pragma once

#include <stdbool.h>

#include "an_event.h"
#include "an_ledger_files.h"

struct an_cursor {
	uint64_t seq;                      /* number of the SETTLE record; 0 if no round was delivered */
	uint8_t round_id[PR_ROUND_ID_LEN]; /* id of that round; unknown if !exact */
	bool exact;
};

struct an_feed {
	const struct an_conf *conf; /* borrowed */
	const char *path;           /* path of the cursor's file, borrowed; NULL if no file is kept */
	struct an_cursor at;
	uint64_t seen; /* records up to this one have been looked at */
	bool open;     /* `files` has the ledger as it was last read */
	struct an_ledger_files files;
	bool read; /* the ledger has been read; `file` is its file as it was then */
	struct {
		uint64_t device, inode, size;
	} file;
};

/* Start after the round in the file `path` (NULL: no file is kept; if the file is missing, start at the
 * first round), or after record `after`, if that is higher.  Reads none of the analyzer's files.  CM_EDATA:
 * the file is not a cursor. */
CM_CHECK enum cm_rc an_feed_begin(
	struct an_feed *f, const struct an_conf *conf, const char *path, uint64_t after, struct cm_err *err);
void an_feed_end(struct an_feed *f);

/* Find the next settled round; valid until the next call on the feed; free its result with json_decref.
 * CM_EMORE: there is none yet.  CM_ELATER: the ledger ends before the cursor.  CM_EDATA: the cursor belongs
 * to another ledger, or a result differs from the one in the ledger.  Otherwise the faults of
 * an_ledger_files_open. */
CM_CHECK enum cm_rc an_feed_next(struct an_feed *f, struct an_event *out, struct cm_err *err);
/* Move past a round that has been delivered, and store that durably if there is a file. */
CM_CHECK enum cm_rc an_feed_done(struct an_feed *f, const struct an_event *e, struct cm_err *err);
/* Wait until the ledger has changed, or until `ms` milliseconds have passed.  Returns false if the
 * descriptor `out` has no reader any more; -1: do not check that. */
bool an_feed_wait(const struct an_feed *f, int out, unsigned ms);
/* Wait `ms` milliseconds. */
void an_feed_pause(unsigned ms);
