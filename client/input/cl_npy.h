/* cl_npy.h - readings as arrays: NumPy files, format 1.0 to 3.0.  Row i of an array of float32 or float64
 * ("<f4", "<f8"),
 * two-dimensional and in C order, is the reading of device i; element i of a one-dimensional array of
 * integers or floats is its label.
 *
 * A row is read when it is its turn, or with rows before it, by pread into a buffer of 64 KiB or one row, and
 * never by a mapping: a file that is cut or written to meanwhile spoils the rows that it spoils, and no
 * access to it can end the client. */
#pragma once

#include "cl_readings.h"

struct cl_npy;
/* Open an array of `dims` dimensions, 1 or 2.  CM_ENOINPUT, CM_EIO; CM_EDATA: the header describes another
 * kind of array, or the file is shorter than its header says. */
CM_CHECK enum cm_rc cl_npy_open(const char *path, unsigned dims, struct cl_npy **out, struct cm_err *err);
/* NULL is fine. */
void cl_npy_close(struct cl_npy *f);
/* Row i, valid until the next call.  NULL: it cannot be read, or a number of it is not within float32. */
const float *cl_npy_row(struct cl_npy *f, uint64_t i);
/* Element i of a one-dimensional array as decimal digits.  NULL: it cannot be read, or is no integer. */
const char *cl_npy_label(struct cl_npy *f, uint64_t i);

/* Deliver every row of `path`, with its label from `labels` (NULL: there are none) as the text of the last
 * field.  conf->device_field is ignored: a row is its number, from 1.  Errors as of cl_npy_open, and of
 * on_row; CM_EDATA: the files have different numbers of rows. */
CM_CHECK enum cm_rc cl_npy_file(
	const char *path, const char *labels, const struct cl_reader_conf *conf, struct cm_err *err);
