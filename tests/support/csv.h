/* csv.h - rows of a comma-separated file with quoted fields, for tests that read reference values. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CSV_FIELDS 32

struct csv {
	FILE *file;
	char head[1024], line[16384];
	char *name[CSV_FIELDS], *field[CSV_FIELDS];
};

static inline void csv_split(char *line, char *field[CSV_FIELDS])
{
	char *out = line;

	memset(field, 0, CSV_FIELDS * sizeof *field);
	for (size_t i = 0; i < CSV_FIELDS; i++) {
		int quoted = *line == '"';

		field[i] = out;
		line += quoted;
		while (*line && *line != '\n' && *line != '\r' && (quoted ? *line != '"' : *line != ',')) {
			*out++ = *line++;
			if (quoted && line[0] == '"' && line[1] == '"') /* a quote, written twice */
				*out++ = *line, line += 2;
		}
		line += quoted && *line == '"';
		int more = *line == ',';
		line += more;
		*out++ = '\0';
		if (!more)
			return;
	}
}

static inline int csv_open(struct csv *c, const char *path)
{
	c->file = fopen(path, "r");
	if (!c->file || !fgets(c->head, sizeof c->head, c->file))
		return 0;
	csv_split(c->head, c->name);
	return 1;
}

static inline int csv_next(struct csv *c)
{
	if (!fgets(c->line, sizeof c->line, c->file))
		return 0;
	csv_split(c->line, c->field);
	return 1;
}

/* The field under a heading; NULL when there is none. */
static inline const char *csv_get(const struct csv *c, const char *name)
{
	for (size_t i = 0; i < CSV_FIELDS && c->name[i]; i++)
		if (strcmp(c->name[i], name) == 0)
			return c->field[i];
	return NULL;
}

/* A number of the field "params", an object of JSON without nesting; NAN when there is none. */
static inline double csv_param(const struct csv *c, const char *key)
{
	char quoted[40];
	const char *at;

	(void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
	at = strstr(csv_get(c, "params"), quoted);
	if (!at)
		return (double)NAN;
	at += strlen(quoted);
	return strtod(at + strspn(at, " \""), NULL);
}
