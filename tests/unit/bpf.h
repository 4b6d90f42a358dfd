/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a classic BPF program over a seccomp_data, the instructions our filters are made of only. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

/* No seccomp action: the program left its bounds or has an instruction we never generate. */
#define BPF_BROKEN 0xdeadbeefu

static inline uint32_t bpf_load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;
	memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static inline uint32_t bpf_run(
	const struct sock_filter *code, size_t len, const struct seccomp_data *data)
{
	uint32_t acc = 0;
	for (size_t pc = 0; pc < len; pc++) {
		const struct sock_filter *insn = &code[pc];
		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (insn->k % sizeof(acc) || insn->k > sizeof(*data) - sizeof(acc))
				return BPF_BROKEN;
			acc = bpf_load(data, insn->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			acc &= insn->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += acc == insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += acc >= insn->k ? insn->jt : insn->jf;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		default:
			return BPF_BROKEN;
		}
	}
	return BPF_BROKEN;
}
