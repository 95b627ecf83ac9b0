/* cmd_import.c - rounds `import:FILE,...`, `matrix:FILE,...` and `personal:FILE,...`: what a file says,
 * beside a round's keys. */
#include "cmd_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acct_own.h"
#include "cmd.h"
#include "cmd_personal.h"

#define MOST_FILES 1024u
#define PATH_ROOM  1024u

enum kind { CURVE, MATRIX, PERSONAL, KINDS };
static const char *const prefix[KINDS] = { "import:", "matrix:", "personal:" };

/* What was read in this run: a round borrows its curve for as long as the program runs. */
static struct {
	char path[PATH_ROOM];
	struct acct_profile *profile;
	struct acct_matrix matrix; /* p NULL: a curve */
} file[MOST_FILES];
static size_t files;
static bool absent; /* the round read last has a file that cannot be opened */

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

int cmd_not_a_round(const char *text, const char *why)
{
	return cmd_fail(absent ? CMD_NO_INPUT : CMD_DATA, "--round %.80s: %s", text, why);
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

/* The place of a file, read if it is new; MOST_FILES: why says what is wrong. */
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
		read = cmd_matrix_read(path, &file[files].matrix, fault, sizeof fault);
	else
		read = (file[files].profile = cmd_import_read(path, fault, sizeof fault)) != NULL;
	if (!read) {
		(void)snprintf(why, room, "%.100s: %s", path, fault);
		return MOST_FILES;
	}
	(void)snprintf(file[files].path, PATH_ROOM, "%s", path);
	return files++;
}

/* The curve of a matrix is kept as if it had been read. */
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
