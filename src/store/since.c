/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/date.h"
#include "model/units.h"
#include "store/store.h"

enum { DAY_SECONDS = 86400 };

static void stamp(int64_t second, char since[24])
{
	struct date date;
	date_of_day(second / DAY_SECONDS, &date);
	int of_day = (int)(second % DAY_SECONDS);
	(void)snprintf(since, 24, "%04d%02d%02dT%02d%02d%02dZ", date.year % 10000, date.month % 100,
		date.day % 100, of_day / 3600, of_day / 60 % 60, of_day % 60);
}

/* "2h": so long ago. */
static bool parse_ago(const char *text, char since[24])
{
	int64_t ago = 0;
	int64_t now = time(NULL);
	if (units_parse_span(text, &ago) < 0)
		return false;
	stamp(now > ago ? now - ago : 0, since);
	return true;
}

static bool parse_date(const char *text, char since[24])
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	size_t len = strlen(text);
	size_t used = 0;
	if (len != strlen("2026-11-15") && len != strlen(form))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return false;
		if (form[i] != '-' && form[i] != ':')
			since[used++] = text[i];
	}
	since[used] = '\0';
	return true;
}

bool store_since(const char *text, char since[24])
{
	return parse_ago(text, since) || parse_date(text, since);
}
