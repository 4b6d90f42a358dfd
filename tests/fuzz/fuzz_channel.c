/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a runner says, in pieces whose size the first byte chooses: bounded, and a sound result
 * whenever it is taken for a message. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "runtime/channel.h"
#include "wire/frame.h"
#include "wire/json.h"

static bool hear(struct channel *channel, struct frames *frames)
{
	const char *data = NULL;
	size_t len = 0;
	struct err err = { 0 };
	int r = 0;
	while ((r = frames_next(frames, &data, &len)) == 1) {
		struct message message = { 0 };
		MUST(len > 0 && len <= frames->max_len);
		if (channel_take(channel, data, len, &message, &err) < 0) {
			MUST(err.text[0] != '\0');
			return false;
		}
		if (message.kind != MESSAGE_NONE) {
			auto_free char *line = message_to_json(&message, "id", 1);
			MUST(strchr(line, '\n') == line + strlen(line) - 1);
		}
		message_done(&message);
	}
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result result;
	struct spec spec;
	struct frames frames;
	struct channel channel = { .result = &result };
	size_t piece = size > 0 ? (size_t)data[0] + 1 : 1;
	result_init(&result);
	spec_init(&spec);
	frames_init(&frames, 4096);
	for (size_t at = 1; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		if (len > frames_room(&frames) || frames_push(&frames, data + at, len) < 0 ||
			!hear(&channel, &frames))
			break;
	}
	channel_end(&channel);
	MUST(result.output_count <= LIMIT_OUTPUTS && result.error.trace_count <= LIMIT_TRACE);
	auto_free char *text = result_to_json(&result, &spec, false);
	auto_json struct json_object *json = json_tokener_parse(text);
	MUST(json != NULL);
	frames_done(&frames);
	spec_done(&spec);
	result_done(&result);
	return 0;
}
