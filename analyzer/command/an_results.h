/* an_results.h - the verbs that hand results on to other programs. */
#pragma once

#include "cm_cli.h"

enum { AN_EXPORT_FOLLOW = 0, AN_EXPORT_FORMAT, AN_EXPORT_AFTER, AN_EXPORT_CURSOR };
enum cm_rc an_results_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
