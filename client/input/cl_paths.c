/* cl_paths.c - keeps paths as a tree of keys, and walks it along with the text. */
#include "cl_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_readings.h"
#include "cl_texts.h"

#define NOTHING SIZE_MAX

/* A key, and the keys that may follow it in a path. */
struct node {
	char *key;
	size_t parent;
	size_t first; /* the first path that ends here; NOTHING if none does */
	struct cl_texts *keys;
	const char **text; /* the keys that may follow; text[i] leads to the node of number child[i] */
	size_t *child, children;
	size_t items; /* an array's items are read up to this number only */
};

struct cl_paths {
	struct node *node; /* node 0 stands for the outermost object */
	size_t nodes, n;
	size_t *next; /* for each path: the next path that ends at the same node */
	struct cm_buf room;
};

/* ---- paths ---- */

/* The number of an array's item; NOTHING if the key is not a number. */
static size_t item_of(const char *key)
{
	size_t digits = strspn(key, "0123456789");

	return digits > 0 && digits <= 6 && key[digits] == '\0' && (*key != '0' || digits == 1)
		       ? (size_t)strtoul(key, NULL, 10)
		       : NOTHING;
}

/* Take "[12]" at *at; `key` becomes its number. */
static bool take_item(const char **at, char *key)
{
	size_t digits = strspn(*at + 1, "0123456789");

	memcpy(key, *at + 1, digits);
	key[digits] = '\0';
	if (item_of(key) == NOTHING || (*at)[1 + digits] != ']')
		return false;
	*at += digits + 2;
	return true;
}

/* Take one key of a path and move *at behind it.  false: the key is empty, or a character follows that may
 * not follow.  After the last key *at is at the path's end. */
static bool take_key(const char **at, bool first, char key[CL_PATH_MAX + 1])
{
	size_t n = 0;

	if (!first && **at == '[')
		return take_item(at, key) && (**at == '\0' || strchr(".[", **at));
	*at += !first && **at == '.';
	for (; **at != '\0' && **at != '.' && **at != '['; ++*at) {
		if (**at == ']' || (**at == '\\' && ((*at)[1] == '\0' || !strchr(".[]\\", (*at)[1]))))
			return false;
		*at += **at == '\\';
		key[n++] = **at;
	}
	key[n] = '\0';
	return n > 0;
}

enum cm_rc cl_path_check(const char *text, struct cm_err *err)
{
	char key[CL_PATH_MAX + 1];
	const char *at = text;
	size_t keys = 0;

	if (strlen(text) > CL_PATH_MAX)
		return cm_fail(err, CM_ECONFIG, "a path of more than %u bytes", CL_PATH_MAX);
	do
		if (!take_key(&at, keys++ == 0, key))
			return cm_fail(err, CM_ECONFIG,
				"'%.60s' is no path: keys with dots between them, and the number of an array's "
				"item as sensors.0 or sensors[0]; in a key, a dot, bracket or backslash has a "
				"backslash before it, which this file writes as two",
				text);
	while (*at != '\0');
	return keys <= CL_PATH_LEVELS
		       ? CM_OK
		       : cm_fail(err, CM_ECONFIG, "a path of more than %u keys", CL_PATH_LEVELS);
}

/* Take the next key of a path or name, as take_key does. */
static bool next_key(const struct cl_path *path, const char **at, char key[CL_PATH_MAX + 1])
{
	if (!path->name)
		return take_key(at, *at == path->text, key);
	(void)snprintf(key, CL_PATH_MAX + 1, "%s", path->text);
	*at += strlen(*at);
	return true;
}

bool cl_path_holds(const struct cl_path *outer, const struct cl_path *path)
{
	const char *a = outer->text, *b = path->text;
	char key[CL_PATH_MAX + 1], other[CL_PATH_MAX + 1];

	if (strlen(a) > CL_PATH_MAX || strlen(b) > CL_PATH_MAX)
		return false;
	do
		if (!next_key(outer, &a, key) || !next_key(path, &b, other) || strcmp(key, other) != 0)
			return false;
	while (*a != '\0' && *b != '\0');
	return *a == '\0';
}

bool cl_path_is_key(const char *text, char key[CL_PATH_MAX + 1])
{
	return strlen(text) <= CL_PATH_MAX && take_key(&text, true, key) && *text == '\0';
}

/* ---- the tree ---- */

static size_t find_or_add(struct cl_paths *p, size_t parent, const char *key)
{
	size_t item = item_of(key);

	for (size_t i = 1; i < p->nodes; i++)
		if (p->node[i].parent == parent && strcmp(p->node[i].key, key) == 0)
			return i;
	p->node[p->nodes] = (struct node){ .key = strdup(key), .parent = parent, .first = NOTHING };
	if (!p->node[p->nodes].key)
		return NOTHING;
	p->node[parent].children++;
	if (item != NOTHING && item >= p->node[parent].items)
		p->node[parent].items = item + 1;
	return p->nodes++;
}

static bool add_path(struct cl_paths *p, size_t i, const struct cl_path *path)
{
	char key[CL_PATH_MAX + 1];
	const char *at = path->text;
	size_t node = 0, *last;

	if (path->name)
		node = find_or_add(p, 0, path->text);
	for (bool first = true; !path->name && node != NOTHING && *at != '\0'; first = false)
		node = take_key(&at, first, key) ? find_or_add(p, node, key) : NOTHING;
	if (node == NOTHING)
		return false;
	for (last = &p->node[node].first; *last != NOTHING;)
		last = &p->next[*last];
	*last = i;
	p->next[i] = NOTHING;
	return true;
}

static enum cm_rc index_children(struct cl_paths *p, size_t at, struct cm_err *err)
{
	struct node *node = &p->node[at];
	size_t n = 0;

	node->text = calloc(node->children, sizeof *node->text);
	node->child = calloc(node->children, sizeof *node->child);
	if (!node->text || !node->child)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 1; i < p->nodes; i++)
		if (p->node[i].parent == at) {
			node->text[n] = p->node[i].key;
			node->child[n++] = i;
		}
	return cl_texts_new(node->text, n, &node->keys, err);
}

enum cm_rc cl_paths_new(const struct cl_path *path, size_t n, struct cl_paths **out, struct cm_err *err)
{
	struct cl_paths *p = calloc(1, sizeof *p);
	enum cm_rc rc = CM_OK;

	*out = p;
	if (!p)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	cm_buf_init(&p->room, CL_RECORD_MAX);
	p->room.secret = 1;
	p->node = calloc(n * CL_PATH_LEVELS + 1, sizeof *p->node);
	p->next = calloc(n + 1, sizeof *p->next);
	if (!p->node || !p->next)
		rc = CM_EINTERNAL;
	else
		p->node[p->nodes++] = (struct node){ .parent = NOTHING, .first = NOTHING };
	for (size_t i = 0; rc == CM_OK && i < n; i++)
		rc = add_path(p, i, &path[i]) ? CM_OK : CM_EINTERNAL;
	if (rc != CM_OK)
		(void)cm_fail(err, rc, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < p->nodes; i++)
		if (p->node[i].children > 0)
			rc = index_children(p, i, err);
	if (rc != CM_OK) {
		cl_paths_free(p);
		*out = NULL;
	}
	return rc;
}

void cl_paths_free(struct cl_paths *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nodes; i++) {
		cl_texts_free(p->node[i].keys);
		free(p->node[i].text);
		free(p->node[i].child);
		free(p->node[i].key);
	}
	cm_buf_fini(&p->room);
	free(p->node);
	free(p->next);
	free(p);
}

/* ---- the search ---- */

/* An object or array that is being read, and the node of the path that leads to it. */
struct level {
	struct cl_json json;
	const struct node *node;
	size_t item; /* in an array, the number of the next item */
};

static bool open_level(struct level *l, const struct node *node, const uint8_t *text, const uint8_t *end)
{
	*l = (struct level){ .node = node };
	return cl_json_open(&l->json, text, end, '{') ||
	       (node->items > 0 && cl_json_open(&l->json, text, end, '['));
}

/* Set *out to the node of this part; NULL if no path leads through it. */
static enum cm_rc node_of(
	struct cl_paths *p, struct level *l, const struct cl_json_part *part, const struct node **out)
{
	char number[16];
	const uint8_t *key = (const uint8_t *)number;
	size_t n, at;
	enum cm_rc rc = CM_OK;

	*out = NULL;
	if (part->key)
		rc = cl_json_key(part, &p->room, &key, &n);
	else
		n = (size_t)snprintf(number, sizeof number, "%zu", l->item++);
	if (rc != CM_OK)
		return rc;
	at = cl_texts_find(l->node->keys, key, n);
	if (at < l->node->children)
		*out = &p->node[l->node->child[at]];
	return CM_OK;
}

enum cm_rc cl_paths_find(struct cl_paths *p, const uint8_t *text, const uint8_t *end, cl_paths_found *found,
	void *user, const uint8_t **bad, struct cm_err *err)
{
	struct level level[CL_PATH_LEVELS];
	const struct node *node;
	struct cl_json_part part;
	size_t depth = 1;
	enum cm_rc rc;

	*bad = NULL;
	level[0] = (struct level){ .node = &p->node[0] };
	if (!cl_json_open(&level[0].json, text, end, '{')) {
		*bad = level[0].json.at;
		return CM_EDATA;
	}
	while (depth > 0) {
		struct level *l = &level[depth - 1];

		rc = cl_json_next(&l->json, &part);
		if (rc == CM_EDATA && !*bad)
			*bad = l->json.at;
		if (rc != CM_OK || (!part.key && l->item >= l->node->items)) {
			depth--;
			continue;
		}
		if (node_of(p, l, &part, &node) != CM_OK)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		if (!node)
			continue;
		for (size_t i = node->first; i != NOTHING; i = p->next[i]) {
			rc = found(user, i, &part, err);
			if (rc != CM_OK)
				return rc;
		}
		if (node->children > 0 && open_level(&level[depth], node, part.value, part.end))
			depth++;
	}
	return *bad ? CM_EDATA : CM_OK;
}
