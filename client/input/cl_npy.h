/* cl_npy.h - reads arrays as readings: NumPy files, format 1.0 to 3.0.  Row i of a two-dimensional array of
 * float32 or float64 ("<f4", "<f8"), in C order, is the reading of device i; element i of a one-dimensional
 * array of integers or floats is its label.
 *
 * Rows are read by pread, when they are needed or together with the rows before them, into a buffer of 64
 * KiB or one row.  The file is never mapped: if it is cut or changed meanwhile, only the rows concerned are
 * wrong, and no access to it can end the client. */
#pragma once

#include "cl_readings.h"

struct cl_npy;
/* Open an array of `dims` dimensions, 1 or 2.  CM_ENOINPUT, CM_EIO; CM_EDATA: the header describes another
 * kind of array, or the file is shorter than its header says. */
CM_CHECK enum cm_rc cl_npy_open(const char *path, unsigned dims, struct cl_npy **out, struct cm_err *err);
/* Accepts NULL. */
void cl_npy_close(struct cl_npy *f);
/* Row i, valid until the next call.  NULL if it cannot be read, or if one of its numbers is outside
 * float32. */
const float *cl_npy_row(struct cl_npy *f, uint64_t i);
/* Element i of a one-dimensional array as decimal digits.  NULL if it cannot be read, or is not an
 * integer. */
const char *cl_npy_label(struct cl_npy *f, uint64_t i);

/* Deliver every row of `path`, with its label from `labels` (NULL: there are none) as the text of the last
 * field.  conf->device_field is ignored: the device is the row's number, from 1.  Errors are those of
 * cl_npy_open and of on_row; CM_EDATA: the files have different numbers of rows. */
CM_CHECK enum cm_rc cl_npy_file(
	const char *path, const char *labels, const struct cl_reader_conf *conf, struct cm_err *err);
