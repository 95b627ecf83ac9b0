/* params.h - `key=value;key=value` fields of the reference tables. */
#pragma once

#include <stdlib.h>
#include <string.h>

/* The text behind a key, up to ';' or the end; NULL when there is none. */
static inline const char *params_text(const char *params, const char *key)
{
	size_t size = strlen(key);

	for (const char *at = params; at; at = strchr(at, ';'), at += at != NULL)
		if (strncmp(at, key, size) == 0 && at[size] == '=')
			return at + size + 1;
	return NULL;
}

/* The number behind a key; 0 when there is none. */
static inline double params_number(const char *params, const char *key)
{
	const char *text = params_text(params, key);

	return text ? strtod(text, NULL) : 0;
}

static inline int params_is(const char *params, const char *key, const char *value)
{
	const char *text = params_text(params, key);

	return text && strncmp(text, value, strlen(value)) == 0 &&
	       (text[strlen(value)] == ';' || text[strlen(value)] == '\0');
}
