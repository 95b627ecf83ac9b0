/* cm_log.c - writes one line per event on stderr. */
#include "cm_log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_clock.h"
#include "cm_text.h"

#define BODY_MAX   2048u /* most bytes of a line besides its time; longer lines are cut */
#define STRING_MAX 200u
#define RECENT     16u
#define QUIET_MS   1000   /* for this time after a line, repetitions of it are only counted */
#define QUIET_MAX  600000 /* while a line goes on repeating, that time doubles up to this */
#define STUCK_MS   1000   /* how long a line waits if the reader of the log has stopped reading */

static const char *const level_name[] = { "error", "warn", "info", "debug" };
/* sd-daemon(3) priorities, from which the journal learns the level. */
static const char *const level_journal[] = { "<3>", "<4>", "<6>", "<7>" };

/* A recent line; identical ones are only counted until quiet_ms have passed. */
struct recent {
	enum cm_level level;
	int64_t said_ms, seen_ms, quiet_ms;
	uint64_t again;
	char body[BODY_MAX];
};

static struct {
	pthread_mutex_t lock;
	const char *role;
	enum cm_level max;
	bool json, journal;
	uint64_t lost; /* how many lines were lost since one could last be written */
	struct recent recent[RECENT];
} log_state = { .lock = PTHREAD_MUTEX_INITIALIZER, .role = "tombola", .max = CM_LOG_INFO };

/* A string under construction, of limited length. */
struct text {
	char *at;
	size_t len, max;
};

static void add_char(struct text *t, char c)
{
	if (t->len + 1 < t->max) {
		t->at[t->len++] = c;
		t->at[t->len] = '\0';
	}
}

static void add(struct text *t, const char *s)
{
	while (*s != '\0')
		add_char(t, *s++);
}

/* Escape as JSON does, in the text format too, so that one line stays one line and cannot control a
 * terminal.  Bytes that are not UTF-8, and characters that are not safe to print, are escaped byte by
 * byte. */
static void add_escaped(struct text *t, const char *s)
{
	for (size_t i = 0; i < STRING_MAX && s[i] != '\0'; i++) {
		unsigned char c = (unsigned char)s[i];
		const uint8_t *at = (const uint8_t *)s + i;
		size_t len = cm_text_char(at, strnlen(s + i, 4));

		/* Never write half an escape: a cut line must stay readable. */
		if (t->len + 8 >= t->max)
			return;
		if (len > 1 && cm_text_shows(at, len)) {
			for (size_t k = 0; k < len; k++)
				add_char(t, s[i + k]);
			i += len - 1;
		} else if (c == '"' || c == '\\') {
			add_char(t, '\\');
			add_char(t, (char)c);
		} else if (c == '\n') {
			add(t, "\\n");
		} else if (c < 0x20 || c >= 0x7f) {
			char hex[8];

			(void)snprintf(hex, sizeof hex, "\\u%04x", c);
			add(t, hex);
		} else {
			add_char(t, (char)c);
		}
	}
}

static void add_value(struct text *t, const struct cm_field *f, bool json)
{
	char number[64];

	switch (f->type) {
	case CM_F_STR:
		add_char(t, '"');
		add_escaped(t, f->v.s ? f->v.s : "");
		add_char(t, '"');
		return;
	case CM_F_INT:
		(void)snprintf(number, sizeof number, "%" PRId64, f->v.i);
		break;
	case CM_F_NUM:
		if (json && !isfinite(f->v.d))
			(void)snprintf(number, sizeof number, "\"%g\"", f->v.d);
		else
			(void)snprintf(number, sizeof number, "%.*g", json ? 17 : 6, f->v.d);
		break;
	}
	add(t, number);
}

/* Format everything but the time, and keep room for the closing brace. */
static void make_body(char body[BODY_MAX], enum cm_level level, const char *msg, const struct cm_field *f,
	size_t n, bool json)
{
	struct text t = { .at = body, .max = BODY_MAX - 64 };

	body[0] = '\0';
	if (json) {
		add(&t, "\"level\":\"");
		add(&t, level_name[level]);
		add(&t, "\",\"role\":\"");
		add_escaped(&t, log_state.role);
		add(&t, "\",\"msg\":\"");
		add_escaped(&t, msg);
		add(&t, "\"");
	} else {
		add(&t, level_name[level]);
		add(&t, ": ");
		add_escaped(&t, msg);
	}
	for (size_t i = 0; i < n; i++) {
		size_t before = t.len;

		add(&t, json ? ",\"" : " ");
		add_escaped(&t, f[i].key);
		add(&t, json ? "\":" : "=");
		add_value(&t, &f[i], json);
		/* A field that does not fit is left out whole. */
		if (t.len + 16 >= t.max) {
			t.len = before;
			t.at[t.len] = '\0';
			break;
		}
	}
}

/* Can a line be written without waiting?  The reader of a pipe may have stopped.  What does not fit into
 * the pipe is then lost, so that no peer waits because of the log. */
static bool has_room(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	int n;

	do {
		n = poll(&p, 1, log_state.lost > 0 ? 0 : STUCK_MS);
	} while (n < 0 && errno == EINTR);
	return n != 0;
}

static void write_line(enum cm_level level, const char *body, uint64_t again)
{
	char line[BODY_MAX + 160], when[32], repeated[48] = "", lost[48] = "";
	int64_t now = cm_clock_wall_ms();
	int n;

	cm_clock_text(now, when);
	if (again > 0)
		(void)snprintf(repeated, sizeof repeated,
			log_state.json ? ",\"repeated\":%" PRIu64 : " repeated=%" PRIu64, again);
	if (!has_room()) {
		log_state.lost++;
		return;
	}
	if (log_state.lost > 0)
		(void)snprintf(lost, sizeof lost,
			log_state.json ? ",\"lines_lost\":%" PRIu64 : " lines_lost=%" PRIu64, log_state.lost);
	log_state.lost = 0;
	if (log_state.json)
		n = snprintf(line, sizeof line, "%s{\"ts\":\"%.19s.%03dZ\",%s%s%s}\n",
			log_state.journal ? level_journal[level] : "", when, (int)(now % 1000), body,
			repeated, lost);
	else
		n = snprintf(line, sizeof line, "%s%s %s %s%s%s\n",
			log_state.journal ? level_journal[level] : "", when, log_state.role, body, repeated,
			lost);
	/* Write it at once, so that lines of several processes do not mix.  There is nowhere to report a
	 * failure. */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
		return;
}

static void say_again(struct recent *r)
{
	if (r->again > 0)
		write_line(r->level, r->body, r->again);
	r->again = 0;
}

static void forget(struct recent *r)
{
	say_again(r);
	r->body[0] = '\0';
}

/* A warning or error is over when it did not occur for QUIET_MAX, any other line QUIET_MS after it was
 * logged. */
static bool is_over(const struct recent *r, int64_t now_ms)
{
	return r->level <= CM_LOG_WARN ? now_ms - r->seen_ms >= QUIET_MAX : now_ms - r->said_ms >= QUIET_MS;
}

/* Log the line again, now that its quiet time has passed; the next quiet time is longer. */
static void say_on(struct recent *r, int64_t now_ms)
{
	say_again(r);
	r->said_ms = now_ms;
	r->quiet_ms = r->quiet_ms > QUIET_MAX / 2 ? QUIET_MAX : r->quiet_ms * 2;
}

/* Count the line if an identical one was logged recently.  True: the caller must not write it, since it was
 * only counted, or was logged with its count. */
static bool seen(enum cm_level level, const char *body, int64_t now_ms)
{
	struct recent *oldest = &log_state.recent[0], *same = NULL;

	for (size_t i = 0; i < RECENT; i++) {
		struct recent *r = &log_state.recent[i];

		if (r->body[0] != '\0' && is_over(r, now_ms))
			forget(r);
		/* Log the count when the quiet time has passed, without waiting for the line to come
		 * again. */
		else if (r->again > 0 && now_ms - r->said_ms >= r->quiet_ms)
			say_on(r, now_ms);
		if (r->body[0] != '\0' && strcmp(r->body, body) == 0)
			same = r;
		if (r->body[0] == '\0' || (oldest->body[0] != '\0' && r->seen_ms < oldest->seen_ms))
			oldest = r;
	}
	if (same) {
		same->seen_ms = now_ms;
		same->again++;
		if (now_ms - same->said_ms >= same->quiet_ms)
			say_on(same, now_ms);
		return true;
	}
	forget(oldest);
	*oldest =
		(struct recent){ .level = level, .said_ms = now_ms, .seen_ms = now_ms, .quiet_ms = QUIET_MS };
	(void)snprintf(oldest->body, sizeof oldest->body, "%s", body);
	return false;
}

/* systemd sets JOURNAL_STREAM to device:inode of the stream that it reads; a child may have a different
 * stderr. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	char mine[64];

	if (!stream || fstat(STDERR_FILENO, &st) != 0)
		return false;
	(void)snprintf(mine, sizeof mine, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, mine) == 0;
}

void cm_log_init(const char *role, enum cm_level max, enum cm_log_format format)
{
	(void)pthread_mutex_lock(&log_state.lock);
	log_state.role = role;
	log_state.max = max;
	log_state.json = format == CM_LOG_JSON || (format == CM_LOG_AUTO && isatty(STDERR_FILENO) == 0);
	log_state.journal = stderr_is_journal();
	(void)pthread_mutex_unlock(&log_state.lock);
}

void cm_log_fields(enum cm_level level, const char *msg, const struct cm_field *f, size_t n)
{
	char body[BODY_MAX];

	(void)pthread_mutex_lock(&log_state.lock);
	if (level <= log_state.max) {
		make_body(body, level, msg, f, n, log_state.json);
		if (!seen(level, body, cm_clock_mono_ms()))
			write_line(level, body, 0);
	}
	(void)pthread_mutex_unlock(&log_state.lock);
}

void cm_log_flush(void)
{
	(void)pthread_mutex_lock(&log_state.lock);
	for (size_t i = 0; i < RECENT; i++)
		forget(&log_state.recent[i]);
	(void)pthread_mutex_unlock(&log_state.lock);
}
