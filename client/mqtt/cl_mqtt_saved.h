/* cl_mqtt_saved.h - keeps the readings of cl_mqtt_held.h over restarts: the file DIR/held, sealed.
 *
 * The file has a box for each listed device, all of one size, in the order of the list, whether the device
 * has a reading or not.  So its length follows from the list and the configuration alone; whoever writes it
 * at fixed intervals shows nothing of a reading.  Each file is sealed under a key of its own, DIR/held-0.key
 * or DIR/held-1.key, which is destroyed once the next file is durable: then what was too old, or replaced,
 * cannot be read any more, wherever the disk may keep earlier blocks.  After a crash at any moment there is
 * the old file with its key, or the new one.  All files are 0600. */
#pragma once

#include "cl_mqtt_held.h"
#include "cr_rand.h"

/* A copy of all readings as they are at one moment, not yet sealed. */
struct cl_mqtt_image;
/* NULL: out of memory.  Linear in the devices; no I/O. */
struct cl_mqtt_image *cl_mqtt_image_new(const struct cl_held *h, int64_t now_ms, int64_t wall_ms);
/* Wipes it; NULL is fine. */
void cl_mqtt_image_free(struct cl_mqtt_image *image);
/* Seal it and replace the file, durably.  Any thread, one at a time.  CM_ECREATE, CM_EIO: it cannot be
 * written, and the old file is still good; CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_mqtt_image_write(const struct cl_mqtt_image *image, const char *dir,
	const char *population, const struct cr_rng *rng, struct cm_err *err);

/* Add the readings of the file, if there is one, to those of listed devices.  CM_EDATA: it cannot be opened,
 * as after its key was lost, and some readings may be missing; CM_EIO; CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_mqtt_saved_load(const char *dir, const char *population, struct cl_held *h,
	int64_t now_ms, int64_t wall_ms, struct cm_err *err);
/* Remove the file and its keys, if they exist. */
CM_CHECK enum cm_rc cl_mqtt_saved_erase(const char *dir, struct cm_err *err);
