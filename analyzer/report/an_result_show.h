/* an_result_show.h - prints result documents as a table or CSV. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cm_table.h"

/* Print a table.  Of a long list only the largest items (or the first, of numbers) are printed, with a line
 * that says how many are left out and how to see them; `all` prints every item. */
#define AN_RESULT_SHOWN 40u
void an_result_print(const json_t *result, bool all, FILE *out);
void an_result_csv(const json_t *result, FILE *out);
/* These print several results in one table: an_result_rows adds this result's rows, each with the two cells
 * of `lead` before item, estimate and interval; false if the result has no estimate or is NULL.  For one
 * CSV, an_result_csv_head prints the header line, and an_result_csv_rows the rows, each after `lead`; a
 * NULL result has one row without values. */
bool an_result_rows(const json_t *result, const char *const lead[2], bool all, struct cm_table *t);
void an_result_csv_head(FILE *out);
void an_result_csv_rows(const json_t *result, const char *lead, FILE *out);
/* The place of an item that is a cell of a grid.  The columns i = 0 to 3 are "x" and "y", the middle of the
 * cell on the first and on the second field, and "width" and "height", its size.  NAN: the item is not a
 * cell. */
#define AN_RESULT_PLACE 4u
extern const char *const an_result_place_name[AN_RESULT_PLACE];
double an_result_place(const json_t *item, size_t i);
/* Print a text as one cell of CSV, in quotes. */
void an_result_csv_text(const char *s, FILE *out);
