/* cf_scan.c - finds faults in a configuration text that libconfig does not report. */
#include "cf_scan.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "cm_owned.h"

/* One level of nesting: a group, a list or an array.  Level 0 is the file itself. */
struct level {
	const char *key; /* the last key, not terminated; NULL: there was none yet */
	int key_len;
	unsigned item; /* number of the item, if this is a list; otherwise 0 */
};

struct scan {
	const char *at, *name, *dir;
	unsigned line, last_line; /* the current line, and the last line to scan */
	unsigned nesting, depth, *includes;
	struct level level[CF_NESTING_MAX + 2];
	char *dotted; /* receives the dotted form of each key when it begins; NULL: nobody wants it */
	size_t dotted_size;
	struct cf_faults *faults;
	bool good;
};

static bool scan_text(struct scan *s);

void cf_fault(struct cf_faults *f, const char *file, unsigned line, const char *fmt, ...)
{
	char text[256], place[16] = "";
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (line > 0)
		(void)snprintf(place, sizeof place, "%u:", line);
	if (f->n++ == 0)
		(void)cm_fail(f->err, CM_ECONFIG, "%s:%s %s", file, place, text);
	f->err->said = f->out;
	if (f->out && f->n <= CF_FAULTS_MAX)
		(void)fprintf(f->out, "%s:%s %s\n", file, place, text);
	if (f->out && f->n == CF_FAULTS_MAX + 1)
		(void)fprintf(f->out, "%s: more faults are not shown\n", file);
}

#define FAULT(s, ...) ((s)->good = false, cf_fault((s)->faults, (s)->name, (s)->line, __VA_ARGS__))

static void not_closed(struct scan *s, unsigned line, const char *what)
{
	s->good = false;
	cf_fault(s->faults, s->name, line, "a %s is not closed", what);
}

static void skip_comment(struct scan *s)
{
	if (s->at[0] == '/' && s->at[1] == '*') {
		unsigned line = s->line;

		s->at += 2;
		while (*s->at != '\0' && !(s->at[0] == '*' && s->at[1] == '/'))
			s->line += *s->at++ == '\n';
		if (*s->at != '\0')
			s->at += 2;
		else
			not_closed(s, line, "comment");
		return;
	}
	while (*s->at != '\0' && *s->at != '\n')
		s->at++;
}

static void skip_string(struct scan *s)
{
	unsigned line = s->line;

	s->at++;
	while (*s->at != '\0' && *s->at != '"') {
		/* C would end the string at an escaped NUL, and a reader of the file would not. */
		if (strncmp(s->at, "\\x00", 4) == 0)
			FAULT(s, "\\x00 in a string");
		if (*s->at == '\\' && s->at[1] != '\0')
			s->at++;
		s->line += *s->at++ == '\n';
	}
	if (*s->at == '"')
		s->at++;
	else
		not_closed(s, line, "string");
}

/* Check an integer of libconfig's: 32 bits, or 64 with the suffix L; hexadecimal with 0x. */
static void scan_number(struct scan *s)
{
	const char *start = s->at, *digits;
	bool negative = *s->at == '-', hex, wide, decimal = false;
	unsigned long long v, limit;
	char *end;
	int shown;

	s->at += *s->at == '-' || *s->at == '+';
	digits = s->at;
	hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	for (s->at += hex ? 2 : 0; isalnum((unsigned char)*s->at) || *s->at == '.'; s->at++) {
		decimal = decimal || (!hex && (*s->at == '.' || *s->at == 'e' || *s->at == 'E'));
		if (!hex && (*s->at == 'e' || *s->at == 'E') && (s->at[1] == '-' || s->at[1] == '+'))
			s->at++;
	}
	if (decimal)
		return;
	errno = 0;
	v = strtoull(digits, &end, hex ? 16 : 10);
	wide = *end == 'L';
	limit = wide ? LLONG_MAX : INT_MAX;
	limit += negative;
	shown = end + wide - start > 40 ? 40 : (int)(end + wide - start);
	if (errno == ERANGE || v > (unsigned long long)LLONG_MAX)
		FAULT(s, "the integer %.*s is too large", shown, start);
	else if (v > limit)
		FAULT(s, "the integer %.*s is too large to be written without L: %.*sL", shown, start, shown,
			start);
}

static bool is_include(const char *at)
{
	at += strspn(at, " \t");
	return strncmp(at, "@include", 8) == 0;
}

static void scan_include(struct scan *s)
{
	struct scan inner = *s;
	struct cm_buf text;
	struct cm_err err = { 0 };
	char *path = NULL, name[256];
	size_t n;

	s->at += strspn(s->at, " \t") + 8;
	s->at += strspn(s->at, " \t");
	n = *s->at == '"' ? strcspn(s->at + 1, "\"\\\n") : 0;
	cm_buf_init(&text, CF_FILE_MAX + 1);
	if (!s->dir) {
		FAULT(s, "@include is not allowed here");
		goto out;
	}
	if (n == 0 || n >= sizeof name || s->at[n + 1] != '"') {
		FAULT(s, "@include wants one file name in double quotes");
		goto out;
	}
	if (s->depth + 1 > CF_DEPTH_MAX || ++*s->includes > CF_INCLUDES) {
		FAULT(s, "too many includes (at most %u files, %u deep)", CF_INCLUDES, CF_DEPTH_MAX);
		goto out;
	}
	memcpy(name, s->at + 1, n);
	name[n] = '\0';
	path = cm_file_join(s->dir, name);
	if (!path || cm_owned_read(path, CF_FILE_MAX, &text, &err) != CM_OK) {
		FAULT(s, "%s", !path ? "out of memory" : err.msg);
		goto out;
	}
	if (memchr(text.data, 0, text.len) || cm_buf_put(&text, "", 1) != CM_OK) {
		FAULT(s, "%.200s: not a text file", path);
		goto out;
	}
	/* libconfig opens the file itself, so the byte order mark cannot be removed. */
	if (strncmp((const char *)text.data, CF_BOM, sizeof CF_BOM - 1) == 0) {
		FAULT(s, "%.200s: begins with a byte order mark: save it without one", path);
		goto out;
	}
	inner.at = (const char *)text.data;
	inner.name = path;
	inner.line = 1;
	inner.depth++;
	s->good = scan_text(&inner) && s->good;
out:
	while (*s->at != '\0' && *s->at != '\n')
		s->at++;
	cm_buf_fini(&text);
	free(path);
}

static void write_key(struct scan *s)
{
	char *out = s->dotted;
	const size_t size = s->dotted_size;
	size_t n = 0;

	for (unsigned i = 0; i <= s->nesting && n < size; i++) {
		const struct level *l = &s->level[i];

		if (l->item > 0)
			n += (size_t)snprintf(out + n, size - n, ".[%u]", l->item);
		else if (l->key)
			n += (size_t)snprintf(
				out + n, size - n, "%s%.*s", n > 0 ? "." : "", l->key_len, l->key);
	}
}

/* Scan a word, and remember it if it is a key and not true or false. */
static void scan_name(struct scan *s)
{
	const char *name = s->at;

	while (isalnum((unsigned char)*s->at) || *s->at == '_' || *s->at == '-' || *s->at == '*')
		s->at++;
	const char *after = s->at + strspn(s->at, " \t");

	if (*after != '=' && *after != ':')
		return;
	s->level[s->nesting].key = name;
	s->level[s->nesting].key_len = (int)(s->at - name);
	if (s->dotted)
		write_key(s);
}

static void scan_sign(struct scan *s)
{
	const char c = *s->at++;

	s->line += c == '\n';
	if (c == '{' || c == '(' || c == '[')
		s->level[++s->nesting] = (struct level){ .item = c == '(' };
	else if (s->nesting > 0 && (c == '}' || c == ')' || c == ']'))
		s->nesting--;
	else if (c == ',' && s->level[s->nesting].item > 0)
		s->level[s->nesting].item++;
}

static bool scan_text(struct scan *s)
{
	bool line_start = true;

	while (*s->at != '\0' && s->nesting <= CF_NESTING_MAX && s->line <= s->last_line) {
		char c = *s->at;

		if (line_start && is_include(s->at)) {
			scan_include(s);
			continue;
		}
		line_start = c == '\n';
		if (c == '#' || (c == '/' && (s->at[1] == '/' || s->at[1] == '*'))) {
			skip_comment(s);
		} else if (c == '"') {
			skip_string(s);
		} else if (isdigit((unsigned char)c) ||
			   ((c == '-' || c == '+') && isdigit((unsigned char)s->at[1]))) {
			scan_number(s);
		} else if (isalpha((unsigned char)c) || c == '*') {
			scan_name(s);
		} else {
			scan_sign(s);
		}
	}
	if (s->nesting > CF_NESTING_MAX)
		FAULT(s, "nested deeper than %u", CF_NESTING_MAX);
	return s->good;
}

bool cf_scan(const char *text, const char *name, const char *dir, struct cf_faults *f)
{
	unsigned includes = 0;
	struct scan s = {
		.at = text,
		.name = name,
		.dir = dir,
		.line = 1,
		.last_line = UINT_MAX,
		.includes = &includes,
		.faults = f,
		.good = true,
	};

	return scan_text(&s);
}

void cf_scan_key(const char *text, unsigned line, char *dotted, size_t size)
{
	unsigned includes = 0;
	struct cm_err none = { 0 };
	struct cf_faults unseen = { .err = &none };
	struct scan s = {
		.at = text,
		.name = "",
		.line = 1,
		.last_line = line,
		.includes = &includes,
		.faults = &unseen,
		.dotted = dotted,
		.dotted_size = size,
	};

	*dotted = '\0';
	(void)scan_text(&s);
}
