/* cm_table.h - prints aligned text tables and a progress line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Columns: text is left-aligned, numbers right-aligned ('<' or '>' per column). */
struct cm_table;
struct cm_table *cm_table_new(const char *align, const char *const *head);
/* Add a row of strlen(align) cells, which are copied. */
void cm_table_row(struct cm_table *t, const char *const *cell);
void cm_table_print(const struct cm_table *t, FILE *out);
/* Print rows [from, to), and the head before row 0: for a table that is printed while it grows. */
void cm_table_print_rows(const struct cm_table *t, size_t from, size_t to, FILE *out);
void cm_table_free(struct cm_table *t);

/* Write a number such as "58,000" into out. */
const char *cm_thousands(int64_t v, char out[32]);

/* Progress on stderr: a bar redrawn in place on a terminal, else one plain line every 10 s. */
struct cm_progress {
	const char *what;
	uint64_t total;
	int64_t started_ms, shown_ms;
	bool tty;
};
void cm_progress_init(struct cm_progress *p, const char *what, uint64_t total, int64_t now_ms);
void cm_progress_at(struct cm_progress *p, uint64_t done, int64_t now_ms);
void cm_progress_done(struct cm_progress *p, uint64_t done, int64_t now_ms);
