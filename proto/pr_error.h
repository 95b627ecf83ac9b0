/* pr_error.h - what an Error frame of a peer means here.  No I/O. */
#pragma once

#include "cm_rc.h"
#include "tombola.pb-c.h"

/* Convert a peer's Error frame to our error; one table has the cm_rc of each code.  Returns its code. */
enum cm_rc pr_error(const Tombola__V1__Error *e, struct cm_err *err);
