/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's own way to a date reads the host's time zone first, which takes as long as a fork
 * and changes nothing where the time is UTC. Here years begin in March, so that a leap day is the
 * last of its year, and 400 of them, an era, are as long as any other 400.
 */
#include "base/date.h"

enum { EPOCH = 719468, DAYS_OF_ERA = 146097 }; /* 1970-01-01, in days after 0000-03-01 */

void date_of_day(int64_t day, struct date *date)
{
	int64_t era = (day + EPOCH) / DAYS_OF_ERA;
	int64_t of_era = (day + EPOCH) % DAYS_OF_ERA;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* since March: five of them have 153 days */
	date->day = (int)(of_year - (153 * month + 2) / 5 + 1);
	date->month = (int)(month < 10 ? month + 3 : month - 9);
	date->year = (int)(era * 400 + year + (month >= 10));
}

int64_t date_to_day(const struct date *date)
{
	int64_t year = date->year - (date->month <= 2);
	int64_t month = date->month > 2 ? date->month - 3 : date->month + 9;
	int64_t of_era = year % 400;
	int64_t of_year = (153 * month + 2) / 5 + date->day - 1;
	return year / 400 * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
	       EPOCH;
}
