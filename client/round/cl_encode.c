/* cl_encode.c - values to sealed messages. */
#include "cl_encode.h"

#include <stdlib.h>

#include "cm_buf.h"

size_t cl_device_len(const struct rd_descriptor *d)
{
	return d->messages_per_client * rd_message_len(d);
}

static enum cm_rc sealer_for(const struct rd_descriptor *d, struct cr_hpke_sealer **out, struct cm_err *err)
{
	uint8_t info[RD_INFO_LEN];

	rd_hpke_info(d, info);
	return cr_hpke_sealer_new(d->suite, d->hpke_key, info, sizeof info, out, err);
}

static enum cm_rc encode_one(const struct rd_descriptor *d, struct cr_hpke_sealer *sealer,
	const struct qy_value *value, const struct cr_rng *rng, uint8_t *records, uint8_t *sealed,
	struct cm_err *err)
{
	uint8_t aad[RD_AAD_LEN];
	size_t len = rd_message_len(d), tag_len = len - rd_sealed_len(d);
	uint16_t tags[PR_MESSAGES_MAX];
	enum cm_rc rc = CM_OK;

	rd_hpke_aad(d, aad);
	d->randomizer.row->encode(&d->query, &d->randomizer, value, rng, records);
	if (tag_len > 0)
		d->randomizer.row->route(&d->randomizer, value, records, tags);
	for (uint32_t m = 0; rc == CM_OK && m < d->messages_per_client; m++) {
		if (tag_len > 0)
			cm_put_le16(sealed + m * len, tags[m]);
		rc = cr_hpke_seal(sealer, rng, aad, sizeof aad, records + (size_t)m * d->record_len,
			d->record_len, sealed + m * len + tag_len, err);
	}
	return rc;
}

enum cm_rc cl_encode(const struct rd_descriptor *d, const struct cl_entry *entry, size_t n,
	const struct cr_rng *rng, uint8_t *sealed, struct cm_err *err)
{
	const struct cl_payload_bytes nothing = { NULL, 0 };

	return cl_encode_computed(d, &nothing, entry, n, rng, sealed, err);
}

enum cm_rc cl_encode_computed(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	const struct cl_entry *entry, size_t n, const struct cr_rng *rng, uint8_t *sealed, struct cm_err *err)
{
	size_t records_len = (size_t)d->messages_per_client * d->record_len, device_len = cl_device_len(d);
	struct cr_hpke_sealer *sealer = NULL;
	uint8_t *records = malloc(records_len);
	struct cl_values *values = NULL;
	enum cm_rc rc;

	if (!records)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = sealer_for(d, &sealer, err);
	if (rc == CM_OK)
		rc = cl_values_new(d, payload, &values, err);
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		struct qy_value value;

		/* Random numbers that a test fixes are this device's and no other's. */
		cr_rng_point("device", d->sequence, entry[i].place);
		value = cl_values_of(values, &entry[i].value, rng);
		rc = encode_one(d, sealer, &value, rng, records, sealed + i * device_len, err);
	}
	cl_values_free(values);
	cr_hpke_sealer_free(sealer);
	cr_wipe(records, records_len);
	free(records);
	return rc;
}

enum cm_rc cl_encode_shown(const struct rd_descriptor *d, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, uint8_t *sealed, struct cm_err *err)
{
	struct cr_hpke_sealer *sealer = NULL;
	enum cm_rc rc = sealer_for(d, &sealer, err);

	if (rc == CM_OK)
		rc = encode_one(d, sealer, value, rng, records, sealed, err);
	cr_hpke_sealer_free(sealer);
	return rc;
}
