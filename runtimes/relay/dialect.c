/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/dialect.h"

#include <string.h>

#include "base/own.h"

/*
 * An interactive shell without a terminal reads its commands from a pipe. Each turn is one line of
 * it, which begins with __hotcell_begin (that the line was read to its end can be told from it, and
 * $? is again what the last turn left), and one more with __hotcell_end. The latter has no quotes:
 * whatever part of it an interrupt cuts off, the rest is a command that does not exist.
 */
/* clang-format off */
static const struct dialect dialects[] = {
	{
		.program = "bash",
		.init = "PS1= PS2=; set +o history\n"
			"__hotcell_begin() { builtin printf s >/proc/%1$d/fd/%2$d; return $1; }\n"
			"__hotcell_end() { builtin printf 'e%%s %%s %%s\\n' $1 $2 $3 >/proc/%1$d/fd/%2$d; }\n",
		.has_escapes = true,
		.check = { "/usr/bin/bash", "-O", "extglob", "-n" },
		.open = "unexpected EOF while looking for",
		.commands = "compgen -A command -- \"$__hotcell\"; case $__hotcell in */*) compgen -f -- \"$__hotcell\";; esac",
		.variables = "compgen -v -- \"$__hotcell\"",
		.files = "compgen -f -- \"$__hotcell\" | while IFS= read -r f; do "
			 "[[ -d ${f/#\\~/$HOME} ]] && f+=/; builtin printf '%q\\n' \"$f\"; done",
		.directories = "compgen -d -S / -- \"$__hotcell\"",
		.about = "declare -p -- \"$__hotcell\" 2>/dev/null; type -a -- \"$__hotcell\" 2>/dev/null",
		.manual = "help -- \"$__hotcell\" 2>/dev/null",
		.names = "IFS=$' \\t\\n'; __hotcell=\" HISTFILE HISTFILESIZE HISTSIZE HISTCMD PIPESTATUS COLUMNS LINES $({ env -i /usr/bin/bash --norc -ic 'compgen -v'; "
			 "tr '\\0' '\\n' </proc/$$/environ | cut -d= -f1; } 2>/dev/null | tr '\\n' ' ') \"; "
			 "for __hotcell_v in $(compgen -v); do case $__hotcell$__hotcell_v in "
			 "*\" $__hotcell_v \"*|*' __hotcell'*) continue;; esac; case ${!__hotcell_v@a} in "
			 "*[aA]*) builtin echo \"$__hotcell_v  array\";; *) builtin echo \"$__hotcell_v  variable\";; "
			 "esac; done; for __hotcell_v in $(compgen -A function); do case $__hotcell_v in "
			 "__hotcell*) ;; *) builtin echo \"$__hotcell_v  function\";; esac; done; "
			 "for __hotcell_v in $(compgen -a); do builtin echo \"$__hotcell_v  alias\"; done",
	},
	{
		.program = "zsh",
		.init = "PS1= PS2= RPS1=; setopt no_prompt_sp no_prompt_cr no_bang_hist; unset HISTFILE; SAVEHIST=0\n"
			"__hotcell_begin() { builtin printf s >/proc/%1$d/fd/%2$d; return $1; }\n"
			"__hotcell_end() { builtin printf 'e%%s %%s %%s\\n' $1 $2 $3 >/proc/%1$d/fd/%2$d; }\n",
		.has_escapes = true,
		.check = { "/usr/bin/zsh", "-f", "-n" },
		.open = "unmatched ",
		.commands = "print -rl -- ${(M)${(k)commands}:#$__hotcell*} ${(M)${(k)functions}:#$__hotcell*} "
			    "${(M)${(k)aliases}:#$__hotcell*} ${(M)${(k)builtins}:#$__hotcell*} "
			    "${(M)${(k)reswords}:#$__hotcell*}; case $__hotcell in */*) print -rl -- $__hotcell*(N);; esac",
		.variables = "print -rl -- ${(M)${(k)parameters}:#$__hotcell*}",
		.files = "__hotcell=${__hotcell/#\\~/$HOME}; for f in $__hotcell*(N); do "
			 "[[ -d $f ]] && f+=/; print -r -- ${(q)f}; done",
		.directories = "__hotcell=${__hotcell/#\\~/$HOME}; for f in $__hotcell*(N/); do print -r -- ${(q)f}/; done",
		.about = "typeset -p -- \"$__hotcell\" 2>/dev/null; whence -w -- \"$__hotcell\" >/dev/null && whence -va -- \"$__hotcell\"",
		.manual = "whence -f -- \"$__hotcell\" 2>/dev/null",
		.names = "__hotcell=(RPS1 RPROMPT ${(f)\"$(env -i /usr/bin/zsh -f -ic 'print -rl -- ${(k)parameters} ${(k)aliases}' "
			 "2>/dev/null)\"} ${${(f)\"$(tr '\\0' '\\n' </proc/$$/environ)\"}%%=*}); "
			 "for __hotcell_v in ${(ko)parameters}; do (( ${__hotcell[(Ie)$__hotcell_v]} )) || "
			 "[[ $__hotcell_v = __hotcell* ]] || print -r -- \"$__hotcell_v  ${parameters[$__hotcell_v]%%-*}\"; "
			 "done; for __hotcell_v in ${(ko)functions}; do [[ $__hotcell_v = __hotcell* ]] || "
			 "print -r -- \"$__hotcell_v  function\"; done; for __hotcell_v in ${(ko)aliases}; do "
			 "(( ${__hotcell[(Ie)$__hotcell_v]} )) || print -r -- \"$__hotcell_v  alias\"; done",
	},
	{
		.program = "sh",
		.init = "PS1= PS2=\n"
			"__hotcell_begin() { command printf s >/proc/%1$d/fd/%2$d; return $1; }\n"
			"__hotcell_end() { command printf 'e%%s %%s %%s\\n' $1 $2 $3 >/proc/%1$d/fd/%2$d; }\n",
		.check = { "/usr/bin/sh", "-n" },
		.open = "Unterminated ",
		.commands = "IFS=:; for d in $PATH; do for f in \"$d/$__hotcell\"*; do "
			    "[ -x \"$f\" ] && echo \"${f##*/}\"; done; done",
		.variables = "set | sed -n 's/^\\([A-Za-z_][A-Za-z_0-9]*\\)=.*/\\1/p' | grep -- \"^$__hotcell\"",
		.files = "for f in \"$__hotcell\"*; do [ -d \"$f\" ] && f=$f/; [ -e \"$f\" ] && echo \"$f\"; done",
		.directories = "for f in \"$__hotcell\"*/; do [ -d \"$f\" ] && echo \"$f\"; done",
		.about = "eval \"[ -n \\\"\\${$__hotcell+x}\\\" ] && echo \\\"$__hotcell=\\$$__hotcell\\\"\" 2>/dev/null; "
			 "command -v \"$__hotcell\" >/dev/null && type \"$__hotcell\"",
		.names = "__hotcell=$({ env -i /usr/bin/sh -c set; tr '\\0' '\\n' </proc/$$/environ; } | cut -d= -f1); "
			 "set | sed -n 's/^\\([A-Za-z_][A-Za-z_0-9]*\\)=.*/\\1/p' | grep -vxF \"$__hotcell\n__hotcell\n_\" | "
			 "sed 's/$/  variable/'; alias 2>/dev/null | sed -n 's/^\\([^=]*\\)=.*/\\1  alias/p'",
	},
};
/* clang-format on */

const struct dialect *dialect_find(const char *program)
{
	for (size_t i = 0; i < COUNT_OF(dialects); i++)
		if (strcmp(dialects[i].program, program) == 0)
			return &dialects[i];
	return strcmp(program, "dash") == 0 ? dialect_find("sh") : NULL;
}

void dialect_quote(const struct dialect *dialect, struct buf *buf, const char *text, size_t len)
{
	(void)buf_append(buf, "$'", dialect->has_escapes ? 2 : 0);
	if (!dialect->has_escapes)
		(void)buf_append(buf, "'", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (!dialect->has_escapes && c == '\'')
			(void)buf_append(buf, "'\\''", 4);
		else if (dialect->has_escapes &&
			 (c < ' ' || c == 0x7f || c == '\'' || c == '\\' || c == '!'))
			(void)buf_printf(buf, "\\%03o", c);
		else
			(void)buf_append(buf, text + i, 1);
	}
	(void)buf_append(buf, "'", 1);
}

/* After these a command follows. */
static bool begins_command(const char *code, size_t end)
{
	static const char *const words[] = { "then", "do", "else", "elif", "if", "while", "until",
		"time", "exec", "sudo", "env", "command", "builtin", "nohup", "xargs", "{", "!" };
	while (end > 0 && (code[end - 1] == ' ' || code[end - 1] == '\t'))
		end--;
	if (end == 0 || strchr("\n|&;(", code[end - 1]))
		return true;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		size_t len = strlen(words[i]);
		if (len <= end && memcmp(code + end - len, words[i], len) == 0 &&
			(len == end || strchr(" \t\n|&;(", code[end - len - 1])))
			return true;
	}
	return false;
}

static bool is_after_cd(const char *code, size_t end)
{
	while (end > 0 && code[end - 1] == ' ')
		end--;
	return end >= 2 && memcmp(code + end - 2, "cd", 2) == 0 && begins_command(code, end - 2);
}

size_t dialect_word(const char *code, size_t end, bool *ret_is_command, bool *ret_is_cd)
{
	size_t start = end;
	while (start > 0 && !strchr(" \t\n|&;()<>=\"'`", code[start - 1]))
		start--;
	*ret_is_command = begins_command(code, start);
	*ret_is_cd = is_after_cd(code, start);
	return start;
}
