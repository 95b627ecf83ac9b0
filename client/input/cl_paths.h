/* cl_paths.h - finds the values that paths name in a JSON text, all of them in one pass.  No I/O.
 *
 * A path is the keys that lead to a value, joined by dots: "AM2301.Temperature".  In an array the item's
 * number, from 0, is the key: "sensors.0.value", or "sensors[0].value", which means the same.  A backslash
 * before a dot, a bracket or a backslash makes that character a part of the key: "battery\.level" is the
 * key "battery.level" of the outermost object.  (Telegraf writes paths in this way, too.)
 *
 * Only keys are decoded (cl_json.h).  A text is read once for each level of the deepest path that it has,
 * at most CL_PATH_LEVELS times. */
#pragma once

#include "cl_json.h"

#define CL_PATH_MAX    400u /* bytes of a path */
#define CL_PATH_LEVELS 16u  /* most keys of a path */

struct cl_path {
	const char *text;
	bool name; /* the text is one key of the outermost object, with whatever characters it has */
};

/* CM_ECONFIG: the text is not a path. */
CM_CHECK enum cm_rc cl_path_check(const char *text, struct cm_err *err);
/* Whether `outer` leads to where `path` leads, or to an array or object that holds that value. */
CM_CHECK bool cl_path_holds(const struct cl_path *outer, const struct cl_path *path);
/* Whether the path is one key of the outermost object; `key` is then that key. */
CM_CHECK bool cl_path_is_key(const char *text, char key[CL_PATH_MAX + 1]);

struct cl_paths;
/* Copies one or more paths that pass cl_path_check, or names; several may be equal.  CM_EINTERNAL: out of
 * memory. */
CM_CHECK enum cm_rc cl_paths_new(
	const struct cl_path *path, size_t n, struct cl_paths **out, struct cm_err *err);
/* Accepts NULL. */
void cl_paths_free(struct cl_paths *p);

/* Called for each value that is found, with the number i of its path.  It is called twice for a key that
 * occurs twice.  Any result other than CM_OK ends the search with that result. */
typedef enum cm_rc cl_paths_found(void *user, size_t i, const struct cl_json_part *part, struct cm_err *err);
/* Search a text that must be one object.  CM_EDATA: the text is not JSON at *bad.  Values before and after
 * that place are still delivered, because a fault inside an object that a path leads into ends the search
 * of that object only.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_paths_find(struct cl_paths *p, const uint8_t *text, const uint8_t *end,
	cl_paths_found *found, void *user, const uint8_t **bad, struct cm_err *err);
