/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <time.h>

#include "base/date.h"

TEST(every_day_of_eight_centuries_is_the_librarys)
{
	for (int64_t day = 0; day < 300000; day++) {
		time_t seconds = (time_t)(day * 86400);
		struct tm expected;
		struct date date;
		ASSERT(gmtime_r(&seconds, &expected) != NULL);
		date_of_day(day, &date);
		ASSERT_EQ(date.year, expected.tm_year + 1900);
		ASSERT_EQ(date.month, expected.tm_mon + 1);
		ASSERT_EQ(date.day, expected.tm_mday);
		ASSERT_EQ(date_to_day(&date), day);
	}
}
