/* cd_encode.c - turns the value of a device into sealed messages. */
#include "cd_encode.h"

#include "cm_buf.h"

#define ALIGNED 64u

size_t cd_device_len(const struct rd_descriptor *d)
{
	return d->messages_per_client * rd_message_len(d);
}

static size_t aligned(size_t n)
{
	return (n + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Bytes of the room that the row's encode() works in; the tags lie behind them. */
static size_t row_room(const struct rd_descriptor *d)
{
	const struct pt_device *row = d->randomizer.row;

	return row->room ? aligned(row->room(&d->query, &d->randomizer)) : 0;
}

static bool tagged(const struct rd_descriptor *d)
{
	return rd_message_len(d) > rd_sealed_len(d);
}

size_t cd_room_len(const struct rd_descriptor *d)
{
	return row_room(d) + (tagged(d) ? aligned(d->messages_per_client * sizeof(uint16_t)) : 0);
}

void cd_randomize(const struct rd_descriptor *d, const struct qy_value *value, const struct cr_rng *rng,
	void *room, uint8_t *records, struct cr_key *secret, uint8_t *sealed)
{
	const struct pt_device *row = d->randomizer.row;
	size_t len = rd_message_len(d);

	row->encode(&d->query, &d->randomizer, value, rng, records, room);
	if (tagged(d)) {
		uint16_t *tags = (void *)((uint8_t *)room + row_room(d));

		row->route(&d->randomizer, value, records, tags);
		for (uint32_t m = 0; m < d->messages_per_client; m++)
			cm_put_le16(sealed + m * len, tags[m]);
	}
	rng->fill(rng->ctx, secret, d->messages_per_client * sizeof *secret);
}

enum cm_rc cd_seal(const struct rd_descriptor *d, struct cr_hpke_sealer *sealer, size_t devices,
	const uint8_t *records, const struct cr_key *secret, uint8_t *sealed, struct cm_err *err)
{
	uint8_t aad[RD_AAD_LEN];
	size_t len = rd_message_len(d);

	rd_hpke_aad(d, aad);
	return cr_hpke_seal_many(sealer, secret, devices * d->messages_per_client, aad, sizeof aad, records,
		d->record_len, sealed + (len - rd_sealed_len(d)), len, err);
}
