/* SPDX-License-Identifier: Apache-2.0 */
/* Days as people write them. */
#pragma once

#include <stdint.h>

struct date {
	int year, month, day;
};

/* The day that many days after 1970-01-01, which is 0; not for days before that. */
void date_of_day(int64_t day, struct date *date);

/* The reverse; a month or day that does not exist counts on from the one before. */
int64_t date_to_day(const struct date *date);
