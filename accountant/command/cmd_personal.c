/* cmd_personal.c - rounds `personal:FILE,k=,...`: the response of participants who each have a guarantee of
 * their own, one number a line, as one round whose bound holds for every one of them.
 *
 * The victim has the largest guarantee: among the same participants any other loses less (doc/accounting.md,
 * "Personalised levels").  If there are more than CLASSES guarantees, those with close shares of blanket,
 * k/(e^eps + k - 1), count as the largest among them, which has less blanket and can only raise the bound. */
#include "cmd_personal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define CLASSES   60u
#define MOST      100000000u /* most participants, whose guarantees take 0.8 GB */
#define MOST_LINE 256

struct people {
	double *epsilon;
	size_t size, room;
};

/* Participants with the same guarantee. */
struct people_of {
	double epsilon;
	size_t count;
};

__attribute__((format(printf, 3, 4))) static bool fault(char *why, size_t room, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	/* clang's analyzer does not see that va_start was called */
	(void)vsnprintf(why, room, format, ap); // NOLINT(clang-analyzer-valist.Uninitialized)
	va_end(ap);
	for (char *c = why; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return false;
}

static bool put(struct people *p, double epsilon)
{
	if (p->size == p->room) {
		size_t more = p->room > 0 ? 2 * p->room : 1024;
		double *grown = more <= 2 * (size_t)MOST ? realloc(p->epsilon, more * sizeof *grown) : NULL;

		if (!grown)
			return false;
		p->epsilon = grown;
		p->room = more;
	}
	p->epsilon[p->size++] = epsilon;
	return true;
}

/* Read a line without its end.  *whole: it has no NUL, and it fits, or it is a comment whose rest is left
 * out.  Returns false at the end of the file. */
static bool next_line(FILE *from, char line[MOST_LINE], bool *whole)
{
	size_t length = 0;
	int c;

	*whole = true;
	while ((c = getc(from)) != EOF && c != '\n') {
		if (length + 1 < MOST_LINE) {
			line[length++] = (char)c;
			continue;
		}
		line[length] = '\0';
		*whole = line[strspn(line, " \t")] == '#';
		if (!*whole)
			return true;
	}
	line[length] = '\0';
	*whole = *whole && strlen(line) == length;
	return c != EOF || length > 0;
}

/* Find the number in a line, without spaces and comments around it; NULL: the line has no number. */
static char *number_of(char *line)
{
	size_t length = strlen(line);

	while (length > 0 && strchr(" \t\r", line[length - 1]))
		line[--length] = '\0';
	line += strspn(line, " \t");
	return *line == '\0' || *line == '#' ? NULL : line;
}

/* Take the number of a line.  Returns what is wrong with it, or NULL. */
static const char *take(struct people *p, char *line)
{
	char *number = number_of(line), *end;
	double epsilon;

	if (!number)
		return NULL;
	epsilon = strtod(number, &end);
	if (end == number || *end)
		return "is not a number";
	if (!(epsilon > 0 && epsilon < 700))
		return "is not above 0 and below 700";
	return put(p, epsilon) ? NULL : "is one participant too many, or there is no memory";
}

/* Read all lines.  Any unreadable line is an error: it may hold the largest guarantee. */
static bool read_lines(FILE *from, const char *path, struct people *p, char *why, size_t room)
{
	char line[MOST_LINE];
	bool whole;

	for (size_t number = 1; next_line(from, line, &whole); number++) {
		const char *wrong = whole ? take(p, line) : "is too long, or has a NUL byte";

		if (wrong)
			return fault(why, room, "%.100s:%zu: '%.40s' %s", path, number,
				line + strspn(line, " \t"), wrong);
	}
	if (ferror(from))
		return fault(why, room, "%.100s: cannot be read", path);
	return p->size > 0 || fault(why, room, "%.100s: there are no participants", path);
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double share(double epsilon, double k)
{
	return k * exp(-epsilon) / (1 + (k - 1) * exp(-epsilon));
}

/* The number of different guarantees of participants `from` to `end`. */
static size_t different(const struct people *p, size_t from, size_t end)
{
	size_t n = 0;

	for (size_t i = from; i < end; i++)
		n += i == from || p->epsilon[i] > p->epsilon[i - 1];
	return n;
}

/* Join the sorted guarantees of participants `from` to `end` into at most CLASSES + 1 classes. */
static size_t classes_of(const struct people *p, size_t from, size_t end, double k, struct people_of *out)
{
	double low = share(p->epsilon[p->size - 1], k), high = share(p->epsilon[0], k);
	size_t n = 0, all = different(p, from, end);
	long place = -1;

	for (size_t i = from; i < end; i++) {
		long at = all <= CLASSES
				  ? (long)(n > 0 && p->epsilon[i] <= out[n - 1].epsilon ? n - 1 : n)
				  : lround(floor(CLASSES * (high - share(p->epsilon[i], k)) / (high - low)));

		if (n == 0 || at != place)
			out[n++] = (struct people_of){ 0, 0 };
		place = at;
		/* the largest of the class so far, since they are sorted */
		out[n - 1].epsilon = p->epsilon[i];
		out[n - 1].count++;
	}
	return n;
}

/* Make the round of these classes as a text, and read it.  rest: the round's other keys, or NULL. */
static enum acct_rc as_text(
	const struct people_of *c, size_t n, const struct people *p, const char *rest, char *text)
{
	double largest = p->epsilon[p->size - 1];
	/* a last class with the victim's guarantee needs no level of its own */
	size_t others = n > 0 && c[n - 1].epsilon >= largest ? n - 1 : n;
	int at = snprintf(text, ACCT_SPEC_MAX, "grr:%s%seps0=%.17g,n=%zu", rest ? rest : "", rest ? "," : "",
		largest, p->size);

	for (size_t i = 0; i < others && at >= 0 && at < (int)ACCT_SPEC_MAX; i++)
		at += snprintf(text + at, ACCT_SPEC_MAX - (size_t)at, "%s%.17g",
			i > 0 ? "/" : ",others_eps=", c[i].epsilon);
	for (size_t i = 0; i < others && at >= 0 && at < (int)ACCT_SPEC_MAX; i++)
		at += snprintf(text + at, ACCT_SPEC_MAX - (size_t)at, "%s%zu",
			i > 0 ? "/" : ",others_n=", c[i].count);
	return at >= 0 && at < (int)ACCT_SPEC_MAX ? ACCT_OK : ACCT_EDOMAIN;
}

/* The value of k= among the keys; 0: there is none. */
static double symbols_of(const char *rest)
{
	for (const char *at = rest; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, "k=", 2) == 0)
			return strtod(at + 2, NULL);
	}
	return 0;
}

/* Make the round of a victim of the largest guarantee among all others. */
static enum acct_rc read_people(const struct people *p, const char *rest, double k,
	struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char said[200])
{
	struct people_of c[CLASSES + 2];
	char text[ACCT_SPEC_MAX];
	size_t last = p->size - 1, n = classes_of(p, 0, last, k, c);
	enum acct_rc rc = as_text(c, n, p, rest, text);

	if (!rc)
		rc = acct_spec_parts(text, part, parts, said, 200);
	part[0].mixed = !rc && different(p, 0, last) > CLASSES;
	return rc;
}

enum acct_rc cmd_personal(const char *path, const char *rest, struct acct_spec part[ACCT_SPEC_PARTS],
	size_t *parts, char *why, size_t room)
{
	struct people p = { NULL, 0, 0 };
	char said[200] = "";
	double k = symbols_of(rest);
	enum acct_rc rc = ACCT_EDOMAIN;
	FILE *from;

	if (!(k >= 2)) {
		(void)fault(why, room, "personal: k= is missing, the number of symbols, 2 or more");
		return rc;
	}
	from = cmd_import_open(path);
	if (!from)
		(void)fault(why, room, "%.100s: %s", path, strerror(errno));
	else if (read_lines(from, path, &p, why, room)) {
		qsort(p.epsilon, p.size, sizeof *p.epsilon, ascending);
		rc = read_people(&p, rest, k, part, parts, said);
		if (rc)
			(void)fault(why, room, "personal%s",
				strncmp(said, "grr", 3) == 0 ? said + 3 : ": too long");
	}
	if (from)
		(void)fclose(from);
	free(p.epsilon);
	return rc;
}
