/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell-zygote: the zygote as a program of its own, for a supervisor too large to fork. */
#include "zygote/zygote.h"

int main(void)
{
	zygote_serve(ZYGOTE_CONTROL_FD);
	return 0;
}
