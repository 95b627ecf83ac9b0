/* pt_mixbins_row.c - mixbins: k-ary randomized response among dummies. */
#include "pt_category.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

const struct pt_device pt_device_mixbins = {
	.name = "mixbins",
	.summary = "k-ary randomized response among dummies: a histogram",
	.parameters = &pt_mixbins_layout,
	.check = pt_category_check,
	.dummy = pt_mixbins_dummy,
	.rare_dummy = true,
	PT_CATEGORY_DEVICE,
};
