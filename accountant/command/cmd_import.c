/* cmd_import.c - makes a round from the text `import:FILE,...`, `matrix:FILE,...` or `personal:FILE,...`
 * (cmd.h): reads the file, and the keys that follow its name. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acct_own.h"
#include "acct_profile.h"
#include "cm_oom.h"
#include "cmd.h"
#include "cmd_personal.h"

#define MOST_FILES  1024u
#define PATH_ROOM   1024u
#define MOST_BYTES  (64u << 20)
#define MOST_STEP   690.0
#define COLUMNS     3u
#define DOMINATING  "# dominating"
#define SAYS_SO     "the file must say that it dominates: a line \"" DOMINATING "\" at its head"
#define SAYS_SO_PMF "the file must say that it dominates: \"pessimistic_estimate\": true"
#define REPLACED    "replace one record"
#define REMOVED     "add or remove one record"
#define RELATION    "# neighbours: "
#define SAYS_WHICH  "\"" REPLACED "\" or \"" REMOVED "\""

enum kind { CURVE, MATRIX, PERSONAL, KINDS };
static const char *const prefix[KINDS] = { "import:", "matrix:", "personal:" };

/* Everything that was read in this run: rounds borrow curves for as long as the program runs. */
static struct {
	char path[PATH_ROOM];
	struct acct_profile *profile;
	struct acct_matrix matrix; /* p is NULL: the file has a curve */
} file[MOST_FILES];
static size_t files;
static bool absent; /* the file of the round that was read last could not be opened */

FILE *cmd_import_open(const char *path)
{
	struct stat st;
	FILE *f = fopen(path, "rb");

	if (f && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)fclose(f);
		f = NULL;
		errno = EISDIR;
	}
	absent = !f;
	return f;
}

struct input {
	char *bytes;
	size_t size;
	char *why;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static struct acct_profile *fault(
	const struct input *in, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(in->why, in->room, format, ap);
	va_end(ap);
	for (char *c = in->why; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return NULL;
}

static struct acct_profile *made(const struct input *in, enum acct_rc rc, struct acct_profile *p)
{
	if (rc == ACCT_EDOMAIN)
		return fault(in, "the numbers are out of range, or are no distribution");
	return rc ? fault(in, "%s", acct_strerror(rc)) : p;
}

/* Read the masses of one direction; the caller frees pmf->p.  Returns false if a member is missing or
 * wrong. */
static bool pmf_of(const json_t *object, struct acct_pmf *pmf)
{
	const json_t *lower = json_object_get(object, "lower_loss"),
		     *probs = json_object_get(object, "probs"),
		     *infinite = json_object_get(object, "infinity_mass");
	double *p;

	if (!json_is_integer(lower) || !json_is_array(probs) || !json_is_number(infinite) ||
		json_array_size(probs) == 0)
		return false;
	p = calloc(json_array_size(probs), sizeof *p);
	*pmf = (struct acct_pmf){ .lower = (long)json_integer_value(lower),
		.p = p,
		.size = json_array_size(probs),
		.infinite = json_number_value(infinite) };
	for (size_t i = 0; p && i < pmf->size; i++) {
		if (!json_is_number(json_array_get(probs, i)))
			return false;
		p[i] = json_number_value(json_array_get(probs, i));
	}
	return p != NULL;
}

static struct acct_profile *of_pmf(
	const struct input *in, double step, const struct acct_pmf *remove, const struct acct_pmf *add)
{
	struct acct_profile *p = NULL;
	enum acct_rc rc = acct_profile_of_pmf(step, remove, add, &p);

	return made(in, rc, p);
}

/* Turn the curve of a file into one for replaced records.  `relation` is what the file says that neighbours
 * differ in.  p is owned, and NULL after an error. */
static struct acct_profile *related(const struct input *in, struct acct_profile *p, const char *relation)
{
	struct acct_profile *replaced = NULL;

	if (!p || strcmp(relation, REPLACED) == 0)
		return p;
	enum acct_rc rc = acct_profile_replaced(p, &replaced);
	acct_profile_free(p);
	return made(in, rc, replaced);
}

static bool is_relation(const char *text)
{
	return text && (strcmp(text, REPLACED) == 0 || strcmp(text, REMOVED) == 0);
}

/* Read a JSON object with the members discretization, pessimistic_estimate, neighbours, pmf_remove, pmf_add
 * (null: the same as pmf_remove). */
static struct acct_profile *from_json(const struct input *in)
{
	json_error_t error;
	json_t *whole = json_loadb(in->bytes, in->size, 0, &error);
	const json_t *add = json_object_get(whole, "pmf_add");
	double step = json_number_value(json_object_get(whole, "discretization"));
	struct acct_pmf pmf[2] = { { .size = 0 }, { .size = 0 } };
	struct acct_profile *p = NULL;
	const char *relation = json_string_value(json_object_get(whole, "neighbours"));
	bool two = add && !json_is_null(add);

	if (cm_oom_happened())
		p = fault(in, "out of memory"); /* jansson drops bytes when memory runs out */
	else if (!whole)
		p = fault(in, "line %d: %s", error.line, error.text);
	else if (!(step > 0 && step <= MOST_STEP))
		p = fault(in, "discretization is not a number above 0");
	else if (!json_is_true(json_object_get(whole, "pessimistic_estimate")))
		p = fault(in, SAYS_SO_PMF);
	else if (!pmf_of(json_object_get(whole, "pmf_remove"), &pmf[0]))
		p = fault(in, "pmf_remove is not {lower_loss, probs, infinity_mass}");
	else if (two && !pmf_of(add, &pmf[1]))
		p = fault(in, "pmf_add is neither null nor {lower_loss, probs, infinity_mass}");
	else if (!is_relation(relation))
		p = fault(in, "the file must say for which neighbours: \"neighbours\": " SAYS_WHICH);
	else
		p = related(in, of_pmf(in, step, &pmf[0], two ? &pmf[1] : NULL), relation);
	for (int i = 0; i < 2; i++)
		free((double *)pmf[i].p);
	json_decref(whole);
	return p;
}

/* Cut off the CR of a line's end.  A CR elsewhere ends no line, so that no line is skipped. */
static void cut_end(char *line)
{
	size_t length = strlen(line);

	if (length > 0 && line[length - 1] == '\r')
		line[length - 1] = '\0';
}

/* The rows of a CSV file by columns, after its comments and its header. */
struct table {
	double *column[COLUMNS];
	size_t columns, rows, room;
};

static bool grow(struct table *t)
{
	size_t room = t->room ? 2 * t->room : 256;

	for (size_t i = 0; i < COLUMNS; i++) {
		double *more = realloc(t->column[i], room * sizeof *more);

		if (!more)
			return false;
		t->column[i] = more;
	}
	t->room = room;
	return true;
}

/* Read one line of numbers.  Returns false if it is not one. */
static bool row_of(struct table *t, char *line)
{
	if (t->rows == t->room && !grow(t))
		return false;
	for (size_t i = 0; i < t->columns; i++) {
		char *end;

		t->column[i][t->rows] = strtod(line, &end);
		if (end == line || *end != (i + 1 < t->columns ? ',' : '\0'))
			return false;
		line = end + 1;
	}
	t->rows++;
	return true;
}

static struct acct_profile *of_table(const struct input *in, const char *header, const struct table *t)
{
	struct acct_profile *p = NULL;
	enum acct_rc rc;

	if (t->rows == 0)
		return fault(in, "there are no numbers below %s", header);
	if (strcmp(header, "fpr,fnr") == 0)
		rc = acct_profile_of_trade_off(t->column[0], t->column[1], t->rows, &p);
	else if (strcmp(header, "alpha,rdp") == 0)
		rc = acct_profile_of_renyi(t->column[0], t->column[1], t->rows, &p);
	else
		rc = acct_profile_of_points(t->column[0],
			(const double *const[2]){ t->column[t->columns - 1], NULL }, t->rows, &p);
	return made(in, rc, p);
}

static struct acct_profile *from_csv(const struct input *in)
{
	static const char *const known[] = { "epsilon,delta", "epsilon,delta_lower,delta_upper", "fpr,fnr",
		"alpha,rdp" };
	const char *header = NULL, *relation = NULL;
	struct acct_profile *p = NULL;
	struct table t = { .rows = 0 };
	size_t number = 0;
	bool dominating = false, bad = false;

	for (char *line = in->bytes, *next; line && !bad; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		cut_end(line);
		dominating = dominating || strcmp(line, DOMINATING) == 0;
		if (!relation && strncmp(line, RELATION, strlen(RELATION)) == 0)
			relation = line + strlen(RELATION);
		if (*line == '#' || *line == '\0')
			continue;
		for (size_t i = 0; !header && i < sizeof known / sizeof *known; i++)
			if (strcmp(line, known[i]) == 0)
				header = known[i];
		if (header && t.columns > 0)
			bad = !row_of(&t, line);
		else if (header)
			t.columns = strcmp(header, known[1]) == 0 ? 3 : 2;
		else
			bad = true;
	}
	if (bad && header)
		p = fault(in, "line %zu: not the numbers of %s", number, header);
	else if (!header)
		p = fault(in, "line %zu: no header epsilon,delta or fpr,fnr or alpha,rdp", number);
	else if (!dominating)
		p = fault(in, SAYS_SO);
	else if (!is_relation(relation))
		p = fault(in,
			"the file must say for which neighbours: a line \"" RELATION "\" and " SAYS_WHICH);
	else
		p = related(in, of_table(in, header, &t), relation);
	for (size_t i = 0; i < COLUMNS; i++)
		free(t.column[i]);
	return p;
}

/* Read the whole file, and put a NUL behind it; the caller frees in->bytes.  On false, why says what is
 * wrong. */
static bool read_all(const char *path, struct input *in)
{
	FILE *from = cmd_import_open(path);

	if (!from) {
		(void)fault(in, "%s", strerror(errno));
		return false;
	}
	in->bytes = malloc(MOST_BYTES + 1);
	if (in->bytes)
		in->size = fread(in->bytes, 1, MOST_BYTES + 1, from);
	if (!in->bytes)
		(void)fault(in, "out of memory");
	else if (ferror(from))
		(void)fault(in, "cannot be read");
	else if (in->size > MOST_BYTES)
		(void)fault(in, "more than %u bytes", MOST_BYTES);
	else if (memchr(in->bytes, '\0', in->size))
		(void)fault(in, "no text");
	else
		in->bytes[in->size] = '\0';
	bool good = !in->why[0];
	(void)fclose(from);
	return good;
}

/* Read the curve of a file: JSON with dp_accounting's members, or CSV under a header epsilon,delta or
 * epsilon,delta_lower,delta_upper or fpr,fnr or alpha,rdp.  Its author must make sure that it dominates.
 * On NULL, why says what is wrong, without the name of the file.  Free the curve with acct_profile_free. */
static struct acct_profile *import_read(const char *path, char *why, size_t room)
{
	struct input in = { .why = why, .room = room };
	struct acct_profile *p = NULL;

	why[0] = '\0';
	if (read_all(path, &in))
		p = in.bytes[strspn(in.bytes, " \t\r\n")] == '{' ? from_json(&in) : from_csv(&in);
	free(in.bytes);
	return p;
}

/* Append a line's numbers to p, which has room for `most`.  Returns how many; 0: the line has something
 * else. */
static size_t line_of(char *line, double *p, size_t most)
{
	size_t n = 0;

	for (char *end;; line = end + 1) {
		if (n == most)
			return 0;
		p[n++] = strtod(line, &end);
		if (end == line || (*end != ',' && *end != '\0'))
			return 0;
		if (!*end)
			return n;
	}
}

static bool matrix_of(const struct input *in, struct acct_matrix *m, double *p)
{
	size_t number = 0;

	for (char *line = in->bytes, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		cut_end(line);
		line[strcspn(line, "#")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		size_t n = m->inputs < ACCT_MOST_INPUTS
				   ? line_of(line, p + m->inputs * m->outputs, ACCT_MOST_OUTPUTS)
				   : 0;
		if (n == 0 || (m->inputs > 0 && n != m->outputs)) {
			(void)fault(in, "line %zu: not %s numbers separated by commas, or the input after 64",
				number, m->inputs > 0 ? "as many" : "up to 65536");
			return false;
		}
		m->outputs = n;
		m->inputs++;
	}
	return true;
}

/* Read a matrix of probabilities: a line of numbers separated by commas for each input; # begins a comment.
 * The caller frees (double *)m->p.  On false, why says what is wrong. */
static bool matrix_read(const char *path, struct acct_matrix *m, char *why, size_t room)
{
	struct input in = { .why = why, .room = room };
	double *p = calloc((size_t)ACCT_MOST_INPUTS * ACCT_MOST_OUTPUTS, sizeof *p);
	bool good = false;

	why[0] = '\0';
	*m = (struct acct_matrix){ .p = p };
	if (!p)
		(void)fault(&in, "out of memory");
	else
		good = read_all(path, &in) && matrix_of(&in, m, p);
	free(in.bytes);
	if (!good) {
		free(p);
		m->p = NULL;
	}
	return good;
}

enum cm_rc cmd_not_a_round(const char *text, const char *why)
{
	return cmd_fail(absent ? CM_ENOINPUT : CM_EDATA, "--round %.80s: %s", text, why);
}

static enum kind kind_of(const char *text)
{
	enum kind k = CURVE;

	while (k < KINDS && strncmp(text, prefix[k], strlen(prefix[k])) != 0)
		k++;
	return k;
}

bool cmd_is_import(const char *text)
{
	return kind_of(text) < KINDS;
}

/* The index in `loaded` of a file, which is read if it is new; MOST_FILES: why says what is wrong. */
static size_t load(enum kind kind, const char *path, char *why, size_t room)
{
	char fault[200] = "";
	bool read;

	for (size_t i = 0; i < files; i++)
		if (strcmp(file[i].path, path) == 0 && (file[i].matrix.p != NULL) == (kind == MATRIX))
			return i;
	if (files == MOST_FILES) {
		(void)snprintf(why, room, "import: more than %u files", MOST_FILES);
		return MOST_FILES;
	}
	if (kind == MATRIX)
		read = matrix_read(path, &file[files].matrix, fault, sizeof fault);
	else
		read = (file[files].profile = import_read(path, fault, sizeof fault)) != NULL;
	if (!read) {
		(void)snprintf(why, room, "%.100s: %s", path, fault);
		return MOST_FILES;
	}
	(void)snprintf(file[files].path, PATH_ROOM, "%s", path);
	return files++;
}

/* Keep the curve of a matrix, as long as a curve that was read from a file. */
static bool keep(struct acct_profile *owned, char *why, size_t room)
{
	if (!owned)
		return true;
	if (files == MOST_FILES) {
		(void)snprintf(why, room, "matrix: more than %u files", MOST_FILES);
		acct_profile_free(owned);
		return false;
	}
	file[files++].profile = owned;
	return true;
}

enum acct_rc cmd_import(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room)
{
	enum kind kind = kind_of(text);
	const char *name = text + strlen(prefix[kind]), *rest = strchr(name, ',');
	size_t length = rest ? (size_t)(rest - name) : strlen(name), at;
	struct acct_profile *owned = NULL;
	char path[PATH_ROOM];
	enum acct_rc rc;

	absent = false;
	if (length == 0 || length >= sizeof path) {
		(void)snprintf(why, room, "%s a file's name is missing", prefix[kind]);
		return ACCT_EDOMAIN;
	}
	memcpy(path, name, length);
	path[length] = '\0';
	if (kind == PERSONAL)
		return cmd_personal(path, rest ? rest + 1 : NULL, part, parts, why, room);
	at = load(kind, path, why, room);
	if (at == MOST_FILES)
		return ACCT_EDOMAIN;
	if (kind == CURVE)
		rc = acct_own_curve(file[at].profile, rest ? rest + 1 : NULL, &part[0], why, room);
	else
		rc = acct_own_matrix(&file[at].matrix, rest ? rest + 1 : NULL, &part[0], &owned, why, room);
	*parts = 1;
	return !rc && !keep(owned, why, room) ? ACCT_ELIMIT : rc;
}
