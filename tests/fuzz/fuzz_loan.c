/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever arrives as a packet: it is refused, or a message whose text ends where it says. */
#include "fuzz/fuzz.h"

#include <errno.h>

#include "loan/loan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loan_message message = { 0 };
	int r = loan_parse(data, size, &message);
	MUST(r == 0 || r == -EBADMSG);
	MUST((r == 0) == (message.text != NULL));
	if (r == 0) {
		MUST(message.kind > LOAN_NONE && message.kind < LOAN_KIND_COUNT);
		MUST(message.len < size && message.len <= LOAN_TEXT_MAX);
		MUST(message.text[message.len] == '\0');
		MUST(memcmp(message.text, data + size - message.len, message.len) == 0);
		MUST(message.fd_count == 0);
	}
	loan_message_done(&message);
	return 0;
}
