/* sh_stores_plain.c - the stores of tombola-shuffler. */
#include "sh_stores.h"

const struct sh_store_kind *const sh_stores[] = { &sh_store_sqlite, NULL };
