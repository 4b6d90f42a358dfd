/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where cells are wanted as fast as they can be made, two kinds of work are done at once: an
 * interpreter forks guests, and a zygote bears inits for the lender. On two processors the kernel
 * moves all of them to and fro, and each finds its memory in the other processor's cache. Set
 * apart, each kind has a processor of its own as long as the demand lasts. With more processors
 * that would keep them from those that are idle: nothing is done there.
 *
 * Both are patient meanwhile: what they make for later does not interrupt what runs now.
 *
 * Guests and inits inherit where and how they run; a cell's program gets everything back before it
 * runs (payload_take_job()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper;

/* What a lender's programs are to get back, a bit for each processor. 0: nobody is set apart here.
 */
uint64_t apart_processors(void);

/* Sets zygote and interpreter of a keeper apart, and us with the zygote, or together again. Fine to
 * repeat, for an interpreter that took another's place. */
void apart_set(struct keeper *keeper, bool is_apart);

/* Whom we started in the meantime may run wherever we could. */
void apart_free(pid_t child);
