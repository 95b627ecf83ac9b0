/* cl_mqtt_saved.h - keeps the readings of cl_mqtt_held.h over restarts: the file DIR/held, sealed.
 *
 * The file has a box for each listed device, all of one size, in the order of the list, whether the device
 * has a reading or not. So its length follows from the list and the configuration alone, and writing it at
 * fixed intervals shows nothing of a reading.  Each file is sealed under a key of its own, DIR/held-0.key
 * or DIR/held-1.key, which is destroyed once the next file is durable.  From then on readings that were too
 * old or replaced cannot be read any more, even if the disk still has the earlier blocks.  After a crash at
 * any moment there is the old file with its key, or the new one with its own.  All files have mode 0600. */
#pragma once

#include "cl_mqtt_held.h"
#include "cr_rand.h"

/* A copy of all readings as they are at one moment, not yet sealed. */
struct cl_mqtt_image;
/* Returns NULL if out of memory.  The time is linear in the number of devices; no I/O. */
struct cl_mqtt_image *cl_mqtt_image_new(const struct cl_held *h, int64_t now_ms, int64_t wall_ms);
/* Wipe and free the copy.  Accepts NULL. */
void cl_mqtt_image_free(struct cl_mqtt_image *image);
/* Seal the copy and replace the file, durably.  Any thread may call it, one at a time.  CM_ECREATE, CM_EIO:
 * the file cannot be written, or the old one cannot be read, so that its key is not known; CM_EDATA: the old
 * one is no such file.  In all these cases the old one stays, with its key.  CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_mqtt_image_write(const struct cl_mqtt_image *image, const char *dir,
	const char *population, const struct cr_rng *rng, struct cm_err *err);

/* Add the readings of the file to those of listed devices.  Where there is no file, there are none.  A device
 * whose readings cannot be opened for ever has none: the file is damaged, of another version or population,
 * or its key was lost; *lost then says so (its code is CM_OK otherwise).  An error is what a person can mend,
 * after which nothing is lost.  CM_EPERM, CM_EIO: file or key cannot be read, or others may read the key.
 * CM_EDATA: another program's file stands there.  CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_mqtt_saved_load(const char *dir, const char *population, struct cl_held *h,
	int64_t now_ms, int64_t wall_ms, struct cm_err *lost, struct cm_err *err);
/* Remove the file and its keys, if they exist. */
CM_CHECK enum cm_rc cl_mqtt_saved_erase(const char *dir, struct cm_err *err);
