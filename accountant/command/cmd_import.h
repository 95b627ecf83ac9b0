/* cmd_import.h - reads privacy curves from files. */
#pragma once

#include "acct_own.h"
#include "acct_profile.h"

/* Reads the curve of a file: JSON with dp_accounting's members, or CSV under a header epsilon,delta or
 * epsilon,delta_lower,delta_upper or fpr,fnr or alpha,rdp.  Its maker must say that it dominates.  NULL: why
 * says what is wrong, without the name of the file.  Free it with acct_profile_free. */
struct acct_profile *cmd_import_read(const char *path, char *why, size_t room);

/* Reads a matrix of probabilities: a line of numbers separated by commas for each input; # begins a comment.
 * The caller frees (double *)m->p.  False: why says what is wrong. */
bool cmd_matrix_read(const char *path, struct acct_matrix *m, char *why, size_t room);
