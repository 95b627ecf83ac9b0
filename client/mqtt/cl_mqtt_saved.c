/* cl_mqtt_saved.c - seals the held readings into a file, and opens the file again. */
#include "cl_mqtt_saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_batch.h"
#include "cm_file.h"
#include "cr_aead.h"

/* The file begins with a magic number, the number of its key, the number of devices, and the bytes of
 * each. */
#define MAGIC_LEN 8u /* the last byte is the version */
#define KEY_AT    MAGIC_LEN
#define N_AT      (KEY_AT + 1)
#define SLOT_AT   (N_AT + 4)
#define BEGIN_LEN (SLOT_AT + 4)
#define SLOT_MAX  ((65536u << 10) + 4096u)

static const uint8_t magic[MAGIC_LEN] = { 't', 'o', 'm', 'h', 'o', 'l', 'd', '2' };
static const char *const key_names[] = { "held-0", "held-1" };

struct cl_mqtt_image {
	size_t n, slot;
	uint8_t *bytes;
};

struct cl_mqtt_image *cl_mqtt_image_new(const struct cl_held *h, int64_t now_ms, int64_t wall_ms)
{
	struct cl_mqtt_image *image = calloc(1, sizeof *image);
	size_t size = 0;

	if (!image)
		return NULL;
	image->n = cl_held_devices(h);
	image->slot = cl_held_slot(h);
	if (cm_size_mul(image->n, image->slot, &size))
		image->bytes = malloc(size > 0 ? size : 1);
	if (!image->bytes) {
		free(image);
		return NULL;
	}
	for (size_t i = 0; i < image->n; i++)
		cl_held_store(h, i, now_ms, wall_ms, image->bytes + i * image->slot);
	return image;
}

void cl_mqtt_image_free(struct cl_mqtt_image *image)
{
	if (!image)
		return;
	cr_wipe(image->bytes, image->n * image->slot);
	free(image->bytes);
	free(image);
}

/* Write the data that authenticates a box beside its contents: the beginning of the file, the place of the
 * box, and the population. */
static enum cm_rc aad_of(const uint8_t *begin, const char *population, size_t i, struct cm_buf *out)
{
	uint8_t place[4];

	cm_put_le32(place, (uint32_t)i);
	out->len = 0;
	return cm_buf_put(out, begin, BEGIN_LEN) == CM_OK && cm_buf_put(out, place, sizeof place) == CM_OK
		       ? cm_buf_put(out, population, strlen(population))
		       : CM_EINTERNAL;
}

/* ---- writing ---- */

static enum cm_rc seal(const struct cl_mqtt_image *image, const struct cr_key *key, const char *population,
	const struct cr_rng *rng, struct cm_buf *file, struct cm_err *err)
{
	struct cr_boxes *boxes = cr_boxes_new(key);
	struct cr_nonces nonces;
	struct cm_buf aad;
	enum cm_rc rc = boxes ? CM_OK : CM_EINTERNAL;

	cm_buf_init(&aad, 4096);
	cr_nonces_draw(&nonces, rng);
	for (size_t i = 0; rc == CM_OK && i < image->n; i++) {
		uint8_t *box = cm_buf_room(file, image->slot + CR_BOX_OVERHEAD);

		rc = box ? aad_of(file->data, population, i, &aad) : CM_EINTERNAL;
		if (rc != CM_OK)
			break;
		rc = cr_boxes_seal(boxes, &nonces, aad.data, aad.len, image->bytes + i * image->slot,
			image->slot, box, err);
		file->len += image->slot + CR_BOX_OVERHEAD;
	}
	cm_buf_fini(&aad);
	cr_boxes_free(boxes);
	return rc == CM_EINTERNAL ? cm_fail(err, rc, "out of memory") : rc;
}

/* Fail unless these first bytes are of a file that a client has written, in whatever version, or there are
 * none. */
static enum cm_rc check_ours(const char *path, const uint8_t *begin, size_t n, struct cm_err *err)
{
	if (n == 0 || (n >= MAGIC_LEN && memcmp(begin, magic, MAGIC_LEN - 1) == 0))
		return CM_OK;
	return cm_fail(err, CM_EDATA,
		"%s: not a file of held readings, and it is not written over: move it away", path);
}

/* Find the number of the key that the present file uses; 1 if there is no file, or none that can be opened
 * again.  A file that cannot be read now may be read later, so its key must not be taken for unused. */
static enum cm_rc current_key(const char *path, unsigned *key, struct cm_err *err)
{
	uint8_t begin[BEGIN_LEN] = { 0 };
	FILE *f = fopen(path, "re");
	enum cm_rc rc = CM_OK;
	size_t n = 0;

	*key = 1;
	if (!f && errno == ENOENT)
		return CM_OK;
	if (f)
		n = fread(begin, 1, sizeof begin, f);
	if (!f || ferror(f) != 0)
		rc = cm_file_fail(err, CM_EIO, path, "cannot be read, and is not written over");
	if (f)
		(void)fclose(f);
	if (rc == CM_OK)
		rc = check_ours(path, begin, n, err);
	if (rc == CM_OK && n == sizeof begin && begin[KEY_AT] == 0)
		*key = 0;
	return rc;
}

static enum cm_rc write_file(const struct cl_mqtt_image *image, const char *path, unsigned number,
	const struct cr_key *key, const char *population, const struct cr_rng *rng, struct cm_err *err)
{
	uint8_t begin[BEGIN_LEN];
	struct cm_buf file;
	enum cm_rc rc;

	memcpy(begin, magic, MAGIC_LEN);
	begin[KEY_AT] = (uint8_t)number;
	cm_put_le32(begin + N_AT, (uint32_t)image->n);
	cm_put_le32(begin + SLOT_AT, (uint32_t)image->slot);
	cm_buf_init(&file, BEGIN_LEN + image->n * (image->slot + CR_BOX_OVERHEAD));
	rc = cm_buf_put(&file, begin, sizeof begin);
	/* Allocate all of the room at once. */
	if (rc == CM_OK && !cm_buf_room(&file, file.max - file.len))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = seal(image, key, population, rng, &file, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, file.data, file.len, 0600, err);
	cm_buf_fini(&file);
	return rc;
}

enum cm_rc cl_mqtt_image_write(const struct cl_mqtt_image *image, const char *dir, const char *population,
	const struct cr_rng *rng, struct cm_err *err)
{
	char *path = cm_file_join(dir, "held");
	unsigned old = 1, next;
	struct cr_key key;
	enum cm_rc rc = path ? current_key(path, &old, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	next = 1 - old;
	/* A crash may have left a key whose file was never written. */
	if (rc == CM_OK)
		rc = cr_keyfile_erase(dir, key_names[next], err);
	if (rc == CM_OK)
		rc = cr_keyfile_create(dir, key_names[next], rng, &key, err);
	if (rc == CM_OK) {
		rc = write_file(image, path, next, &key, population, rng, err);
		cr_key_fini(&key);
	}
	if (rc == CM_OK)
		rc = cr_keyfile_erase(dir, key_names[old], err);
	free(path);
	return rc;
}

/* ---- reading ---- */

/* Open all boxes that can be opened; *closed is the number of the others. */
static enum cm_rc open_boxes(const struct cm_buf *file, const struct cr_key *key, const char *population,
	struct cl_held *h, int64_t now_ms, int64_t wall_ms, size_t *closed, struct cm_err *err)
{
	size_t n = cm_get_le32(file->data + N_AT), slot = cm_get_le32(file->data + SLOT_AT);
	struct cr_boxes *boxes = cr_boxes_new(key);
	uint8_t *plain = malloc(slot > 0 ? slot : 1);
	struct cm_buf aad;
	enum cm_rc rc = boxes && plain ? CM_OK : CM_EINTERNAL;

	cm_buf_init(&aad, 4096);
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		rc = aad_of(file->data, population, i, &aad);
		if (rc == CM_OK)
			rc = cr_boxes_open(boxes, aad.data, aad.len,
				file->data + BEGIN_LEN + i * (slot + CR_BOX_OVERHEAD), slot + CR_BOX_OVERHEAD,
				plain, err);
		if (rc == CM_OK)
			rc = cl_held_restore(h, plain, slot, now_ms, wall_ms, err);
		if (rc == CM_EDATA) {
			++*closed;
			rc = CM_OK;
		}
	}
	if (plain)
		cr_wipe(plain, slot);
	free(plain);
	cm_buf_fini(&aad);
	cr_boxes_free(boxes);
	return rc == CM_EINTERNAL ? cm_fail(err, rc, "out of memory") : rc;
}

/* Why no box of a file of ours can be found; NULL if all can. */
static const char *flaw_of(const struct cm_buf *file)
{
	size_t n, slot, size;

	if (file->len == 0)
		return "the file is empty";
	if (file->data[MAGIC_LEN - 1] != magic[MAGIC_LEN - 1])
		return "another version of tombola-client wrote it";
	if (file->len < BEGIN_LEN || file->data[KEY_AT] > 1)
		return "its beginning is damaged";
	n = cm_get_le32(file->data + N_AT);
	slot = cm_get_le32(file->data + SLOT_AT);
	return n <= CL_BATCH_MAX && slot <= SLOT_MAX && cm_size_mul(n, slot + CR_BOX_OVERHEAD, &size) &&
			       size == file->len - BEGIN_LEN
		       ? NULL
		       : "it has another length than it says";
}

/* Take the readings of a file of ours.  What is lost for ever is described in *lost; nothing else is. */
static enum cm_rc take_file(const char *dir, const char *path, const struct cm_buf *file,
	const char *population, struct cl_held *h, int64_t now_ms, int64_t wall_ms, struct cm_err *lost,
	struct cm_err *err)
{
	const char *flaw = flaw_of(file);
	size_t closed = 0;
	struct cr_key key;
	enum cm_rc rc;

	if (flaw) {
		(void)cm_fail(lost, CM_EDATA, "%s: %s", path, flaw);
		return CM_OK;
	}
	rc = cr_keyfile_load(dir, key_names[file->data[KEY_AT]], &key, err);
	if (rc == CM_ENOINPUT || rc == CM_EDATA) {
		(void)cm_fail(lost, CM_EDATA, "%s: its key %s.key is %s", path, key_names[file->data[KEY_AT]],
			rc == CM_ENOINPUT ? "missing" : "damaged");
		return CM_OK;
	}
	if (rc != CM_OK)
		return rc;
	rc = open_boxes(file, &key, population, h, now_ms, wall_ms, &closed, err);
	cr_key_fini(&key);
	if (closed > 0)
		(void)cm_fail(lost, CM_EDATA,
			"%s: the values of %zu of %u devices are damaged, or of another "
			"population or key",
			path, closed, cm_get_le32(file->data + N_AT));
	return rc;
}

enum cm_rc cl_mqtt_saved_load(const char *dir, const char *population, struct cl_held *h, int64_t now_ms,
	int64_t wall_ms, struct cm_err *lost, struct cm_err *err)
{
	char *path = cm_file_join(dir, "held");
	struct cm_buf file;
	enum cm_rc rc;

	lost->code = CM_OK;
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (access(path, F_OK) != 0 && errno == ENOENT) {
		free(path);
		return CM_OK;
	}
	cm_buf_init(&file, SIZE_MAX / 2);
	rc = cm_file_read(path, file.max, &file, err);
	if (rc == CM_OK)
		rc = check_ours(path, file.data, file.len, err);
	if (rc == CM_OK)
		rc = take_file(dir, path, &file, population, h, now_ms, wall_ms, lost, err);
	cm_buf_fini(&file);
	free(path);
	return rc;
}

enum cm_rc cl_mqtt_saved_erase(const char *dir, struct cm_err *err)
{
	char *path = cm_file_join(dir, "held");
	enum cm_rc rc = path ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < sizeof key_names / sizeof key_names[0]; i++)
		rc = cr_keyfile_erase(dir, key_names[i], err);
	if (rc == CM_OK && unlink(path) != 0 && errno != ENOENT)
		rc = cm_file_fail(err, CM_EIO, path, "cannot be removed");
	free(path);
	return rc;
}
