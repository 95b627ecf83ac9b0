/* cmd_import.c - rounds `import:FILE,...`: a curve from a file, beside the keys that every round has. */
#include "cmd_import.h"

#include <math.h>
#include <string.h>

#include "cmd.h"

#define PREFIX       "import:"
#define MOST_FILES   64u
#define PATH_ROOM    1024u
#define CARRIER      "guarantee:epsilon=1"
#define CARRIER_NAME "guarantee: "

/* The files of this run: a round's curve is borrowed for as long as the program runs. */
static struct {
	char path[PATH_ROOM];
	struct acct_profile *profile;
} file[MOST_FILES];
static size_t files;

bool cmd_is_import(const char *text)
{
	return strncmp(text, PREFIX, strlen(PREFIX)) == 0;
}

static const struct acct_profile *load(const char *path, char *why, size_t room)
{
	char fault[200] = "";

	for (size_t i = 0; i < files; i++)
		if (strcmp(file[i].path, path) == 0)
			return file[i].profile;
	if (files == MOST_FILES) {
		(void)snprintf(why, room, "import: more than %u files", MOST_FILES);
		return NULL;
	}
	file[files].profile = cmd_import_read(path, fault, sizeof fault);
	if (!file[files].profile) {
		(void)snprintf(why, room, "%.100s: %s", path, fault);
		return NULL;
	}
	(void)snprintf(file[files].path, PATH_ROOM, "%s", path);
	return file[files++].profile;
}

/* The keys after the file's name are read as those of a guarantee, whose loss the curve replaces. */
enum acct_rc cmd_import(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room)
{
	char path[PATH_ROOM], keys[ACCT_SPEC_MAX], fault[200] = "";
	const char *name = text + strlen(PREFIX), *rest = strchr(name, ',');
	size_t length = rest ? (size_t)(rest - name) : strlen(name);
	const char *reason = "";

	if (length == 0 || length >= sizeof path || (rest && strlen(rest) > 200)) {
		(void)snprintf(why, room, "import: a file's name, and count=, sampling= or defect=");
		return ACCT_EDOMAIN;
	}
	memcpy(path, name, length);
	path[length] = '\0';
	(void)snprintf(keys, sizeof keys, CARRIER "%s", rest ? rest : "");
	enum acct_rc rc = acct_spec_parts(keys, part, parts, fault, sizeof fault);
	if (rc) {
		bool named = strncmp(fault, CARRIER_NAME, strlen(CARRIER_NAME)) == 0;

		(void)snprintf(why, room, "import: %s", fault + (named ? strlen(CARRIER_NAME) : 0));
		return rc;
	}
	struct acct_round r = { .event = ACCT_PROFILE,
		.count = part->round.count,
		.sampling = part->round.sampling,
		.defect = part->round.defect,
		.profile = load(path, why, room) };
	if (!r.profile)
		return ACCT_EDOMAIN;
	rc = acct_round_check(&r, &reason);
	if (rc)
		(void)snprintf(why, room, "%.100s: %s", path, reason);
	part->round = r;
	part->name = "import";
	part->eps0 = INFINITY;
	return rc;
}
