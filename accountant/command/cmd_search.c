/* cmd_search.c - finds the edge of a budget, and changes one key of a SPEC. */
#include "cmd_search.h"

#include <string.h>

#include "acct_named.h"

/* The value at a position of the range.  Positions are counted from the end at which a value fits most
 * easily, towards where values no longer fit. */
static uint64_t value_at(const struct cmd_range *r, uint64_t position)
{
	return r->largest ? r->least + position : r->most - position;
}

enum cmd_edge cmd_search(const struct cmd_range *r, cmd_fit_fn *fit, void *user, uint64_t *best)
{
	uint64_t last = r->most - r->least, at = r->largest ? r->start - r->least : r->most - r->start;
	uint64_t step = r->stride, fits = 0, beyond = 0;
	bool any_fits = false, any_beyond = false, first = true;

	while (!any_fits || !any_beyond || beyond - fits > 1) {
		enum cmd_fit f = fit(user, value_at(r, at));

		if (f == CMD_FAULT || (f == CMD_NOT_A_ROUND && first))
			return CMD_EDGE_FAULT;
		first = false;
		if (f == CMD_FITS) {
			fits = at;
			any_fits = true;
			if (at == last) {
				*best = value_at(r, at);
				return CMD_EDGE_LIMIT;
			}
		} else {
			beyond = at;
			any_beyond = true;
			if (at == 0)
				return CMD_EDGE_NONE;
		}
		if (any_fits && any_beyond) {
			at = fits + (beyond - fits) / 2;
			continue;
		}
		at = any_fits ? (last - at > step ? at + step : last) : (at > step ? at - step : 0);
		step = step <= last / 2 ? 2 * step : last;
	}
	*best = value_at(r, fits);
	return CMD_EDGE;
}

/* Where "key=" starts in text, after a colon or a comma. */
static const char *find(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = strchr(text, ':'); at; at = strchr(at, ',')) {
		at++;
		if (strncmp(at, key, len) == 0 && at[len] == '=')
			return at;
	}
	return NULL;
}

bool cmd_spec_has(const char *text, const char *key)
{
	return find(text, key);
}

bool cmd_spec_set(const char *text, const char *key, const char *value, char *out, size_t room)
{
	const char *at = find(text, key), *rest = at ? at + strcspn(at, ",") : "";
	size_t head = at ? (size_t)(at - text) : strlen(text);
	const char *joint = at || (head > 0 && text[head - 1] == ':') ? "" : strchr(text, ':') ? "," : ":";
	int len = snprintf(out, room, "%.*s%s%s=%s%s", (int)head, text, joint, key, value, rest);

	return len >= 0 && (size_t)len < room;
}

const char *cmd_spec_open(const char *text, char *key, size_t room)
{
	for (const char *at = strchr(text, ':'); at; at = strchr(at, ',')) {
		size_t len = strcspn(++at, "=,");

		if (at[len] == '=' && at[len + 1] == '?' && (at[len + 2] == ',' || !at[len + 2]) &&
			len < room) {
			memcpy(key, at, len);
			key[len] = '\0';
			return key;
		}
	}
	return NULL;
}

bool cmd_spec_whole(const char *const *text, size_t n, const char *key)
{
	if (strcmp(key, "n") == 0 || strcmp(key, "count") == 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		char name[64];

		(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text[i], ":"), text[i]);
		const struct acct_named *row = acct_named_find(name);

		for (const struct acct_param *p = row ? row->param : NULL;
			p && p < row->param + ACCT_NAMED_PARAMS && p->key; p++)
			if (strcmp(p->key, key) == 0)
				return p->kind == ACCT_WHOLE;
	}
	return false;
}
