/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/weight.h"

TEST(weight_grows_with_what_is_used)
{
	enum { MORE = 8 << 20 };
	static volatile char more[MORE];
	int64_t before = weight_kb();
	for (size_t i = 0; i < MORE; i += 1024)
		more[i] = 1;
	ASSERT(before > 0 && more[0] == 1);
	ASSERT(weight_kb() >= before + MORE / 1024 / 2);
}
