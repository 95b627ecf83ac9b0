/* cm_log.h - one line per event on stderr: text on a terminal, JSON otherwise.
 *
 * Lines carry counts and reasons; never a payload, a key, a device, an arrival order or a permutation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

enum cm_level { CM_LOG_ERROR, CM_LOG_WARN, CM_LOG_INFO, CM_LOG_DEBUG };
enum cm_log_format { CM_LOG_AUTO, CM_LOG_TEXT, CM_LOG_JSON };

/* Call once, before other threads start.  role is for example "shuffler", and must stay valid for the life
 * of the process. */
void cm_log_init(const char *role, enum cm_level max, enum cm_log_format format);

/* One field of a line.  String values are escaped and cut at 200 bytes. */
struct cm_field {
	const char *key;
	enum { CM_F_STR, CM_F_INT, CM_F_NUM } type;
	union {
		const char *s;
		int64_t i;
		double d;
	} v;
};
#define CM_S(k, value) ((struct cm_field){ .key = (k), .type = CM_F_STR, .v.s = (value) })
#define CM_I(k, value) ((struct cm_field){ .key = (k), .type = CM_F_INT, .v.i = (int64_t)(value) })
#define CM_D(k, value) ((struct cm_field){ .key = (k), .type = CM_F_NUM, .v.d = (value) })

/* JSON keys: ts level role msg, then the fields.  Thread-safe.  Identical lines within a second are counted
 * and logged once (with "repeated"), so that many bad peers cannot flood the log.  A warning or error that
 * repeats, for example for a peer that is away, is logged at intervals that double up to ten minutes, each
 * time with its count.  Call cm_log_flush when the fault is over, so that the next one is logged at once.
 * While nobody reads the log and it has no room, lines are lost, and the next one says how many (with
 * "lines_lost"). */
void cm_log_fields(enum cm_level level, const char *msg, const struct cm_field *f, size_t n);
/* cm_log(level, msg, fields...) takes at least one field. */
#define cm_log(level, msg, ...)                                                 \
	cm_log_fields((level), (msg), (const struct cm_field[]){ __VA_ARGS__ }, \
		sizeof((const struct cm_field[]){ __VA_ARGS__ }) / sizeof(struct cm_field))
/* Log a line without fields. */
#define cm_log_plain(level, msg) cm_log_fields((level), (msg), NULL, 0)

/* Log the repetitions that were only counted so far, and reset the counts. cm_cli_main calls it at the
 * end. */
void cm_log_flush(void);
