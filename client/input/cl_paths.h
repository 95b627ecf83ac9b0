/* cl_paths.h - finds values in a JSON text by their paths, all of them in one pass.  No I/O.
 *
 * A path is the keys that lead to a value, joined by dots: "AM2301.Temperature".  In an array an item's
 * number, from 0, stands for a key: "sensors.0.value", or "sensors[0].value", which is the same.  A backslash
 * before a dot, a bracket or a backslash makes it a part of the key: "battery\.level" is the key
 * "battery.level" of the outermost object.  (Telegraf writes paths in this way, too.)
 *
 * Nothing is decoded but keys (cl_json.h).  A text is read once for each level of the deepest path that it
 * has, at most CL_PATH_LEVELS times. */
#pragma once

#include "cl_json.h"

#define CL_PATH_MAX    400u /* bytes of a path */
#define CL_PATH_LEVELS 16u  /* keys of a path */

struct cl_path {
	const char *text;
	bool name; /* the text is one key of the outermost object, whatever it holds */
};

/* CM_ECONFIG: the text is no path. */
CM_CHECK enum cm_rc cl_path_check(const char *text, struct cm_err *err);
/* Whether the path is one key of the outermost object; `key` is then that key. */
CM_CHECK bool cl_path_is_key(const char *text, char key[CL_PATH_MAX + 1]);

struct cl_paths;
/* One or more paths that pass cl_path_check, or names.  They are copied, and may be equal.  CM_EINTERNAL: out
 * of memory. */
CM_CHECK enum cm_rc cl_paths_new(
	const struct cl_path *path, size_t n, struct cl_paths **out, struct cm_err *err);
/* Accepts NULL. */
void cl_paths_free(struct cl_paths *p);

/* Who is told of what is found: the value at path i.  A key that stands twice is told twice.  A result other
 * than CM_OK ends the search with it. */
typedef enum cm_rc cl_paths_found(void *user, size_t i, const struct cl_json_part *part, struct cm_err *err);
/* Search a text that is one object.  CM_OK: it is.  CM_EDATA: *bad is where it is not JSON; what was found
 * before and behind is told all the same, for a fault in an object that leads to a value ends only that
 * object.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_paths_find(struct cl_paths *p, const uint8_t *text, const uint8_t *end,
	cl_paths_found *found, void *user, const uint8_t **bad, struct cm_err *err);
