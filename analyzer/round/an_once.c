/* an_once.c - keeps a filter of bits, and two sorted lists that decide what the filter cannot. */
#include "an_once.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

#define LINE_WORDS  8u  /* a line of the filter is 512 bits, one cache line of a processor */
#define LINE_KEYS   32u /* a line has room for this many messages, with 16 bits each */
#define PROBES_MAX  6u  /* each probe uses 9 bits of the key, and eight bytes of the key are used */
#define BUCKET_LEN  4u
#define LISTS_SHARE 8u /* each list gets one eighth of the memory */

struct an_once {
	struct an_once_conf conf;
	uint64_t *bits;
	uint64_t lines;
	unsigned probes;         /* number of bits that are set for a key */
	uint32_t bucket;         /* number of buckets that arrived */
	struct rd_sort *counted; /* the first list: keys of messages that counted */
	/* the second list: key
	 *
	 *  number of the bucket, big endian
	 *
	 *  rest of the message */
	struct rd_sort *aside;
	uint8_t *item; /* room for one item of the second list */
	uint64_t set_aside, duplicates;
	const uint8_t *least; /* the smallest key of the first list that is not below the last key looked up;
				 NULL if there is none */
	uint8_t last[AN_ONCE_KEY]; /* the key of the last item of the second list that was examined */
	bool looked;
};

/* How many bits to set for a key, so that about half of the bits of a full filter stay zero. */
static unsigned probes_of(uint64_t lines, uint64_t messages)
{
	uint64_t each = lines * LINE_WORDS * 64 * 7 / 10 / (messages > 0 ? messages : 1);

	return each < 1 ? 1 : each > PROBES_MAX ? PROBES_MAX : (unsigned)each;
}

enum cm_rc an_once_new(const struct an_once_conf *conf, struct an_once **out, struct cm_err *err)
{
	struct an_once *o = calloc(1, sizeof *o);
	size_t item = conf->sealed_len + BUCKET_LEN, list = conf->bytes / LISTS_SHARE;
	uint64_t wanted = conf->messages / LINE_KEYS + 1;

	if (!o)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	o->conf = *conf;
	o->lines = conf->bytes / 2 / (LINE_WORDS * sizeof *o->bits) + 1;
	if (o->lines > wanted)
		o->lines = wanted;
	o->probes = probes_of(o->lines, conf->messages);
	o->bits = calloc(o->lines * LINE_WORDS, sizeof *o->bits);
	o->counted = rd_sort_new(AN_ONCE_KEY, list / AN_ONCE_KEY + 1, conf->counted);
	o->aside = rd_sort_new(item, list / item + 1, conf->aside);
	o->item = malloc(item);
	if (!o->bits || !o->counted || !o->aside || !o->item) {
		an_once_free(o);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	*out = o;
	return CM_OK;
}

void an_once_free(struct an_once *o)
{
	if (!o)
		return;
	free(o->bits);
	rd_sort_free(o->counted);
	rd_sort_free(o->aside);
	free(o->item);
	free(o);
}

/* Put a key into the filter.  Returns whether all its bits were set before. */
static bool put(struct an_once *o, const uint8_t key[AN_ONCE_KEY])
{
	__extension__ typedef unsigned __int128 u128;
	uint64_t *line = o->bits + LINE_WORDS * (size_t)((u128)cm_get_le64(key) * o->lines >> 64);
	uint64_t at = cm_get_le64(key + 8);
	bool there = true;

	for (unsigned i = 0; i < o->probes; i++, at >>= 9) {
		uint64_t *word = &line[at >> 6 & (LINE_WORDS - 1)], bit = UINT64_C(1) << (at & 63);

		there = there && (*word & bit) != 0;
		*word |= bit;
	}
	return there;
}

static enum cm_rc set_aside(struct an_once *o, const uint8_t *message, struct cm_err *err)
{
	memcpy(o->item, message, AN_ONCE_KEY);
	cm_put_be32(o->item + AN_ONCE_KEY, o->bucket);
	memcpy(o->item + AN_ONCE_KEY + BUCKET_LEN, message + AN_ONCE_KEY, o->conf.sealed_len - AN_ONCE_KEY);
	o->set_aside++;
	return rd_sort_add(o->aside, o->item, 1, err);
}

enum cm_rc an_once_bucket(
	struct an_once *o, const uint8_t **message, size_t n, size_t *now, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	size_t kept = 0;

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		bool there = put(o, message[i]);

		if (CM_CHECKED("analyzer.duplicates") && there) {
			rc = set_aside(o, message[i], err);
		} else {
			rc = rd_sort_add(o->counted, message[i], 1, err);
			message[kept++] = message[i];
		}
	}
	o->bucket++;
	*now = kept;
	return rc;
}

/* Read the next key of the list of keys that counted; `least` is NULL after its end. */
static enum cm_rc next_counted(struct an_once *o, struct cm_err *err)
{
	enum cm_rc rc = rd_sort_next(o->counted, &o->least, err);

	if (rc == CM_EMORE)
		o->least = NULL;
	return rc == CM_EMORE ? CM_OK : rc;
}

enum cm_rc an_once_done(struct an_once *o, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	free(o->bits);
	o->bits = NULL;
	if (o->set_aside > 0) {
		rc = rd_sort_done(o->counted, err);
		if (rc == CM_OK)
			rc = next_counted(o, err);
	}
	return rc == CM_OK ? rd_sort_done(o->aside, err) : rc;
}

/* Find whether a message with this key counted already, either when it arrived, or as the item examined
 * before.  Call it with rising keys. */
static enum cm_rc look(struct an_once *o, const uint8_t key[AN_ONCE_KEY], bool *again, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*again = o->looked && memcmp(o->last, key, AN_ONCE_KEY) == 0;
	if (*again)
		return CM_OK;
	while (rc == CM_OK && o->least && memcmp(o->least, key, AN_ONCE_KEY) < 0)
		rc = next_counted(o, err);
	*again = o->least && memcmp(o->least, key, AN_ONCE_KEY) == 0;
	memcpy(o->last, key, AN_ONCE_KEY);
	o->looked = true;
	return rc;
}

enum cm_rc an_once_next(struct an_once *o, uint8_t *message, struct cm_err *err)
{
	const uint8_t *item;
	bool again = true;
	enum cm_rc rc;

	do {
		rc = rd_sort_next(o->aside, &item, err);
		if (rc == CM_OK)
			rc = look(o, item, &again, err);
		if (rc != CM_OK)
			return rc;
		o->duplicates += again;
	} while (again);
	memcpy(message, item, AN_ONCE_KEY);
	memcpy(message + AN_ONCE_KEY, item + AN_ONCE_KEY + BUCKET_LEN, o->conf.sealed_len - AN_ONCE_KEY);
	return CM_OK;
}

uint64_t an_once_duplicates(const struct an_once *o)
{
	return o->duplicates;
}
