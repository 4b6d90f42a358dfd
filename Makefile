# SPDX-License-Identifier: Apache-2.0
#
# One makefile for the whole tree. `make help` lists the targets.
#
#   rooms of all programs  src/ROOM/*.c         -> $(BUILD)/librooms.a
#   the library            src/lib/*.c, rooms   -> $(BUILD)/libhotcell.so.0, $(BUILD)/libhotcell.a
#   the command line       src/cli/*.c          -> $(BUILD)/hotcell
#   the prompt             src/cli/*.c          -> $(BUILD)/hotcell-repl
#   the zygote             src/zygote/*.c       -> $(BUILD)/hotcell-zygote
#   the keeper             src/keeper/*.c       -> $(BUILD)/hotcell-keeper
#   the daemon             src/server/*.c       -> $(BUILD)/hotcelld
#   a worker               src/worker/*.c       -> $(BUILD)/hotcell-worker
#   tokens                 src/cli/token*.c     -> $(BUILD)/hotcell-token
#   the benchmark          bench/               -> $(BUILD)/hotcell-bench, $(BUILD)/bench/
#   a cell's loader        src/loader/*.c       -> $(BUILD)/gen/loader.c, as bytes
#   the runner of SQL      runtimes/sql/*.c     -> $(BUILD)/runtimes/sql/hotcell-sql
#   what stands before Node and shells in a session
#                          runtimes/relay/*.c   -> $(BUILD)/runtimes/NAME/hotcell-relay
#   the system call filter src/jail/syscalls.def -> $(BUILD)/gen/filter.c (by tools/mkfilter.c)
#
# BUILD, CC and SANITIZE choose a variant; each variant lives in its own directory, so that
# `make asan` and `make fuzz` never disturb the normal build.

VERSION      := 0.1.0
SO_VERSION   := 0
BUILD        ?= build
SANITIZE     ?=
FUZZ_SECONDS ?= 20
PREFIX       ?= /usr/local
DESTDIR      ?=
JOBS         ?= $(shell nproc)
OBJCOPY      ?= objcopy
HOSTCC       ?= $(CC)

SHELL         := /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

# Recipes print one short line each; `make V=1` prints the commands.
V   ?= 0
Q   := $(if $(filter 0,$(V)),@)
say := $(if $(filter 0,$(V)),@printf '  %-6s %s\n',@:)

# Steps that must come one after the other call make again; they share its job slots if it has any.
submake = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

# ---- what there is to build ---------------------------------------------------------------------

LIB_ROOMS := base wire loan model config access jail zygote keeper runtime guard store provider engine session worker mcp server

lib_src     := $(sort $(filter-out %/main.c,$(wildcard $(LIB_ROOMS:%=src/%/*.c))))
cli_src     := $(sort $(wildcard src/cli/*.c))
token_src   := src/cli/token_main.c src/cli/token.c
cli_parts   := $(filter-out %main.c $(token_src),$(cli_src))
zygote_src  := src/zygote/main.c
keeper_src  := src/keeper/main.c
server_src  := src/server/main.c
worker_src  := src/worker/main.c
sql_src     := $(sort $(wildcard runtimes/sql/*.c))
relay_src   := $(sort $(wildcard runtimes/relay/*.c))
unit_src    := $(sort $(wildcard tests/unit/test_*.c))
unit_help   := $(filter-out $(unit_src),$(sort $(wildcard tests/unit/*.c)))
fuzz_src    := $(sort $(wildcard tests/fuzz/fuzz_*.c))
hostile_src := $(sort $(wildcard tests/hostile/programs/*.c))
soak_src    := $(sort $(wildcard tests/soak/*.c tests/templates/*.c tests/session/*.c))
library_src := $(sort $(wildcard src/lib/*.c))
example_src := $(sort $(wildcard examples/*.c))
errors_src  := $(sort $(wildcard tests/errors/*.c))
mcp_src     := tests/mcp/fixtures.c
# Sanitizers keep what the linker drops otherwise, and with it what that needs.
unused_libs := $(if $(SANITIZE),-lsqlite3)
server_libs := -ljson-c -lfyaml -lmicrohttpd -lgnutls -lsqlite3
bench_src   := $(filter-out bench/true.c,$(sort $(wildcard bench/*.c)))

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

lib          := $(BUILD)/librooms.a
library      := $(BUILD)/libhotcell.so.$(SO_VERSION) $(BUILD)/libhotcell.so \
	$(if $(SANITIZE),,$(BUILD)/libhotcell.a)
examples     := $(patsubst %.c,$(BUILD)/%,$(example_src))
parts        := $(BUILD)/libparts.a
programs     := $(if $(cli_src),$(BUILD)/hotcell) $(if $(zygote_src),$(BUILD)/hotcell-zygote) \
	$(BUILD)/hotcell-keeper $(BUILD)/hotcelld $(BUILD)/hotcell-worker $(BUILD)/hotcell-repl \
	$(BUILD)/hotcell-bench $(BUILD)/hotcell-token
unit_tests   := $(unit_src:tests/unit/%.c=$(BUILD)/tests/unit/%)
fuzz_replays := $(fuzz_src:tests/fuzz/fuzz_%.c=$(BUILD)/tests/fuzz/%)
fuzzers      := $(fuzz_src:tests/fuzz/fuzz_%.c=$(BUILD)/fuzzers/%)
hostiles     := $(hostile_src:tests/hostile/programs/%.c=$(BUILD)/tests/hostile/%)
soaks        := $(patsubst tests/soak/%.c,$(BUILD)/tests/%,$(filter tests/soak/%,$(soak_src)))
guests       := $(patsubst tests/templates/%.c,$(BUILD)/tests/%,$(filter tests/templates/%,$(soak_src)))
callers      := $(patsubst tests/session/%.c,$(BUILD)/tests/%,$(filter tests/session/%,$(soak_src)))
helpers      := $(errors_src:tests/errors/%.c=$(BUILD)/tests/%)
fixtures     := $(BUILD)/tests/mcp-fixtures
benches      := $(patsubst %,$(BUILD)/%,bench/run $(sort $(wildcard bench/*.py))) $(BUILD)/bench/true
relays       := $(patsubst %,$(BUILD)/runtimes/%/hotcell-relay,bash javascript sh typescript zsh)
runtimes     := $(patsubst %,$(BUILD)/%,$(shell find -L runtimes -type f ! -name '*.[ch]')) $(BUILD)/runtimes/sql/hotcell-sql $(relays)

# Sources written by a program exist only once the definitions they come from do.
gen_src := $(if $(wildcard src/jail/syscalls.def),$(BUILD)/gen/filter.c) $(BUILD)/gen/loader.c
gen_obj := $(gen_src:$(BUILD)/gen/%.c=$(BUILD)/obj/gen/%.o)
lib_obj := $(call obj,$(lib_src)) $(gen_obj)

# The module that makes a Python a zygote: for any version, but built where one has its headers.
# Sanitized it would need a sanitized Python.
python_include := $(if $(SANITIZE),,$(wildcard $(shell \
	/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h))
module     := $(if $(python_include),$(BUILD)/runtimes/python/_hotcell.abi3.so)
module_src := $(wildcard src/interpreter/*.c src/jail/*.c) src/zygote/payload.c src/zygote/template.c \
	$(addprefix src/base/,buf.c cpus.c err.c huge.c io.c own.c pin.c text.c) src/model/fields.c
module_obj := $(patsubst %.c,$(BUILD)/pic/%.o,$(module_src)) $(gen_src:$(BUILD)/gen/%.c=$(BUILD)/pic/gen/%.o)

# The library: in the programs of others, where only what hotcell.h declares may be seen.
library_obj := $(patsubst %.c,$(BUILD)/pic/%.o,$(library_src) $(filter-out src/server/% src/worker/% src/mcp/% src/access/%,$(lib_src))) \
	$(gen_src:$(BUILD)/gen/%.c=$(BUILD)/pic/gen/%.o)

# What programs have besides main(), for their unit tests.
part_obj := $(call obj,$(cli_parts) $(filter-out %/main.c,$(sql_src) $(relay_src)))

# ---- flags --------------------------------------------------------------------------------------

CPPFLAGS_ALL := -D_GNU_SOURCE -DHOTCELL_VERSION='"$(VERSION)"' -Isrc $(CPPFLAGS)
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla \
	-Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings

is_x86   := $(filter x86_64 i686,$(shell uname -m))
is_clang := $(findstring clang,$(shell $(CC) --version 2>/dev/null))

ifeq ($(SANITIZE),)
# Everything shipped is a static PIE: no loader, no shared library to look up, and still a random
# base address. Measured on a trivial program it starts 4 us later than plain -static.
HARDEN  := -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
	-fstack-clash-protection $(if $(is_x86),-fcf-protection)
STATIC  := -static-pie
ENTRY   := $(if $(filter x86_64,$(shell uname -m)),-e jail_start)
else
# Sanitizers need the dynamic loader and see less through fortified functions. Under them gcc loses
# the value ranges that its truncation warnings are made from, and warns about sound code.
HARDEN  := -O1 -U_FORTIFY_SOURCE -fno-omit-frame-pointer -fsanitize=$(SANITIZE) \
	-fno-sanitize-recover=all $(if $(is_clang),,-Wno-format-truncation -Wno-maybe-uninitialized)
STATIC  := -pie
endif

CFLAGS_ALL  := -std=gnu17 -g -fPIE -ffunction-sections -fdata-sections $(WARNINGS) $(HARDEN) $(CFLAGS)
LDFLAGS_ALL := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections $(LDFLAGS)

# gcc warns of an ignored result even behind a (void) cast, which is how we say that it is meant;
# clang understands the cast and watches over the rest in `make lint`.
GCC_ONLY := $(if $(is_clang),,-Wno-unused-result)

compile = $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(GCC_ONLY)

# A changed compiler or flag rebuilds everything: the stamp's time moves only when its text does.
flags := $(BUILD)/flags
flags_text := $(compile) $(LDFLAGS_ALL) $(STATIC) $(ENTRY)
ifneq ($(file <$(flags)),$(flags_text))
$(shell mkdir -p $(BUILD))
$(file >$(flags),$(flags_text))
endif

# ---- building -----------------------------------------------------------------------------------

.PHONY: all tests fuzzers
all: $(programs) $(lib) $(library) $(runtimes) $(module) $(BUILD)/pycache $(benches)
tests: $(examples) $(unit_tests) $(fuzz_replays) $(hostiles) $(soaks) $(guests) $(callers) $(helpers) $(fixtures)
fuzzers: $(fuzzers)

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(flags)
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(compile) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.o: %.c $(flags)
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(compile) -MMD -MP -c $< -o $@

$(BUILD)/pic/gen/%.o: $(BUILD)/gen/%.c $(flags)
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(compile) -fPIC -MMD -MP -c $< -o $@

$(BUILD)/pic/%.o: %.c $(flags)
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(compile) -fPIC -fvisibility=hidden $(addprefix -isystem ,$(dir $(python_include))) \
		-MMD -MP -c $< -o $@

$(module): $(module_obj)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -shared $(LDFLAGS_ALL) $^ -o $@

# A program finds its languages beside itself, so the build directory is whole.
$(BUILD)/runtimes/%: runtimes/%
	$(Q)install -D -m 644 $< $@

# What a runner in Python loads at every start is compiled for the python3 that is here, valid
# whatever the times of the files; any other version reads the source.
$(BUILD)/pycache: $(filter $(BUILD)/runtimes/python/%.py,$(runtimes))
	$(Q)test ! -x /usr/bin/python3 || /usr/bin/python3 -m compileall -q -f \
		--invalidation-mode unchecked-hash -s $(BUILD)/runtimes/python -p /run/hotcell $^
	$(Q)touch $@

$(BUILD)/pic/src/lib/%.o: CPPFLAGS_ALL += -Iinclude

$(BUILD)/libhotcell.so.$(SO_VERSION): $(library_obj) src/lib/hotcell.map
	$(say) LINK $@
	$(Q)$(compile) -fPIC -shared $(LDFLAGS_ALL) -Wl,-soname,$(@F) -Wl,--version-script=src/lib/hotcell.map \
		$(library_obj) -o $@ -ljson-c -lfyaml

$(BUILD)/libhotcell.so: $(BUILD)/libhotcell.so.$(SO_VERSION)
	$(Q)ln -sf $(<F) $@

# One object in which all names but ours are local, so that they meet none of the program's.
$(BUILD)/libhotcell.a: $(library_obj)
	@rm -f $@
	$(say) AR $@
	$(Q)$(LD) -r $^ -o $(BUILD)/libhotcell.o
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='hotcell_*' $(BUILD)/libhotcell.o
	$(Q)$(AR) qcs $@ $(BUILD)/libhotcell.o

# As a user of the library builds them, from what is installed and nothing else.
$(BUILD)/examples/%: examples/%.c include/hotcell.h $(BUILD)/libhotcell.so
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -std=c11 -O2 -g -Wall -Wextra -Werror $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -Iinclude $< -o $@ \
		-L$(BUILD) -lhotcell -Wl,-rpath,'$$ORIGIN/..'

# Test helpers are found as "unit/…" or "fuzz/…" from tests/, the runner's parts as "sql/…".
$(BUILD)/obj/tests/%.o: CPPFLAGS_ALL += -Itests -Iruntimes
$(BUILD)/obj/runtimes/%.o: CPPFLAGS_ALL += -Iruntimes

# What runs before the C library has no canary yet, and no loop of its may become a call to memcpy.
early := $(BUILD)/obj/src/jail/early.o
$(early): CFLAGS_ALL += -ffreestanding -fno-stack-protector \
	$(if $(is_clang),-fno-builtin,-fno-tree-loop-distribute-patterns)

# The filter generator runs on the build machine, so it is the one user of libseccomp and is never
# sanitized: a leak in a program that prints and exits is of no interest.
$(BUILD)/mkfilter: tools/mkfilter.c src/jail/syscalls.def $(flags)
	@mkdir -p $(@D)
	$(say) HOSTCC $@
	$(Q)$(HOSTCC) $(CPPFLAGS_ALL) -std=gnu17 -O1 -g $(WARNINGS) -MMD -MP -MF $@.d $< -o $@ -lseccomp

$(BUILD)/gen/filter.c: $(BUILD)/mkfilter
	@mkdir -p $(@D)
	$(say) GEN $@
	$(Q)$(BUILD)/mkfilter >$@

# What stands for the dynamic loader in a restricted cell: a program without a C library, kept as
# bytes in ours. It starts before anything could relocate it, so it must need no relocation.
$(BUILD)/loader: src/loader/loader.c src/loader/loader.h $(flags)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS_ALL) -std=gnu17 -Os $(WARNINGS) -fPIE -ffreestanding -fno-builtin \
		-fno-stack-protector -fno-asynchronous-unwind-tables \
		$(if $(is_x86),-fcf-protection=none) -static-pie -nostdlib \
		-Wl,-z,noexecstack,-z,norelro,--build-id=none,-s $< -o $@
	$(Q)! readelf -r $@ | grep -q 'at offset' || { echo 'loader: has relocations'; rm $@; exit 1; }

$(BUILD)/gen/loader.c: $(BUILD)/loader
	@mkdir -p $(@D)
	$(say) GEN $@
	$(Q){ echo '#include "loader/loader.h"'; echo 'const unsigned char loader_image[] = {'; \
		od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g'; echo '};'; \
		echo 'const size_t loader_image_size = sizeof(loader_image);'; } >$@

# Archives are made anew, so no object of a deleted source stays; `q` keeps two rooms' files of one
# name apart where `r` would let the second replace the first.
$(lib): $(lib_obj)
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) qcs $@ $^

$(parts): $(part_obj)
	@rm -f $@
	@mkdir -p $(@D)
	$(say) AR $@
	$(Q)$(AR) qcs $@ $^

# It begins before its C library: what runs then must find all it calls in itself.
$(BUILD)/hotcell: $(call obj,src/cli/main.c $(cli_parts)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $(ENTRY) $^ -o $@ -ljson-c -lfyaml $(unused_libs)
	$(Q)test -z '$(ENTRY)' || ! nm -u $(early) | grep -v ' _start$$' || \
		{ echo 'early.c: calls these before they are there'; rm $@; exit 1; }

# What one of the two needs of the other's parts is linked, and nothing else.
$(BUILD)/hotcell-repl: $(call obj,src/cli/repl_main.c $(cli_parts)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c -lfyaml $(unused_libs)

# The one command that keeps a database.
$(BUILD)/hotcell-token: $(call obj,$(token_src) $(cli_parts)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) -pie $(LDFLAGS_ALL) $^ -o $@ -ljson-c -lfyaml -lsqlite3

$(BUILD)/hotcell-keeper: $(call obj,$(keeper_src)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c

$(BUILD)/hotcell-bench: $(call obj,$(bench_src)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c

# No -ljson-c: a zygote that reaches for a JSON parser fails to link.
$(BUILD)/hotcell-zygote: $(call obj,$(zygote_src)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@

$(BUILD)/hotcelld: $(call obj,$(server_src)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) -pie $(LDFLAGS_ALL) $^ -o $@ $(server_libs)

$(BUILD)/hotcell-worker: $(call obj,$(worker_src)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c -lfyaml

# Static like the rest: it then runs in any root file system, and starts in half the time.
$(BUILD)/runtimes/sql/hotcell-sql: $(call obj,$(sql_src) runtimes/relay/order.c) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) -Wl,--wrap=dlopen $^ -o $@ -lsqlite3 -ljson-c -lm

# In every language that needs it: a cell sees only the directory of its own.
$(BUILD)/hotcell-relay: $(call obj,$(relay_src)) $(lib)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c

$(relays): $(BUILD)/hotcell-relay
	@mkdir -p $(@D)
	$(Q)ln -f $< $@

# A test that has cells raised finds the zygote one directory above, as the soak does.
$(BUILD)/tests/hotcell-zygote: $(BUILD)/hotcell-zygote
	@mkdir -p $(@D)
	$(Q)ln -sf ../hotcell-zygote $@

$(addprefix $(BUILD)/tests/unit/test_keeper_,lend pool): | $(BUILD)/tests/hotcell-zygote

$(BUILD)/tests/unit/test_access_%: LDLIBS += -lsqlite3

# Of the module what does not need a Python.
unit_interpreter := $(filter $(BUILD)/tests/unit/test_interpreter_%,$(unit_tests))
$(unit_interpreter): $(call obj,$(patsubst %,src/interpreter/%.c,data pack proc_text))
$(unit_interpreter): LDLIBS += $(lib)

# The library's own files are in none of the programs.
unit_lib := $(filter $(BUILD)/tests/unit/test_lib_%,$(unit_tests))
$(unit_lib): $(call obj,$(library_src))
$(unit_lib): LDLIBS += $(lib) -ljson-c -lfyaml
$(BUILD)/obj/src/lib/%.o $(BUILD)/obj/tests/unit/test_lib_%.o: CPPFLAGS_ALL += -Iinclude

$(unit_tests): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(call obj,$(unit_help)) $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) -pie $(LDFLAGS_ALL) $^ -o $@ -ljson-c -lfyaml $(LDLIBS)

$(fuzz_replays): $(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o \
		$(BUILD)/obj/tests/fuzz/replay.o $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) -pie $(LDFLAGS_ALL) $^ -o $@ -ljson-c -lfyaml

$(fuzzers): $(BUILD)/fuzzers/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) -fsanitize=fuzzer -pie $(LDFLAGS_ALL) $^ -o $@ -ljson-c -lfyaml

# These run inside cells, where there may be no library to load. They misbehave on purpose, so
# they get warnings but neither hardening nor sanitizers.
$(hostiles): $(BUILD)/tests/hostile/%: tests/hostile/programs/%.c $(flags)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g -Wall -Wextra -Isrc -MMD -MP -MF $@.d -static -pthread $< -o $@

# Directly in tests/, so that the zygote is found one directory above.
$(soaks): $(BUILD)/tests/%: $(BUILD)/obj/tests/soak/%.o $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c

$(guests): $(BUILD)/tests/%: $(BUILD)/obj/tests/templates/%.o $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c

$(callers): $(BUILD)/tests/%: $(BUILD)/obj/tests/session/%.o $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) $(STATIC) $(LDFLAGS_ALL) $^ -o $@ -ljson-c

$(helpers): $(BUILD)/tests/%: $(BUILD)/obj/tests/errors/%.o $(parts) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) -pie $(LDFLAGS_ALL) $^ -o $@ -ljson-c

# The daemon with other tools than its own: what is served comes first, so none is taken from the rooms.
$(fixtures): $(call obj,$(mcp_src) $(server_src)) $(lib)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(compile) -pie $(LDFLAGS_ALL) $^ -o $@ $(server_libs)

$(BUILD)/bench/true: bench/true.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -O2 -Wall -Wextra -Werror -fno-stack-protector $(if $(is_x86),-fcf-protection=none) -static \
		-nostdlib -nostartfiles $< -o $@

$(BUILD)/bench/%: bench/%
	$(Q)install -D -m $(if $(filter %.py,$@),644,755) $< $@

# Objects reached only through a pattern are kept, or every run would build them again.
.SECONDARY:

-include $(patsubst %.o,%.d,$(lib_obj) $(part_obj) $(module_obj) $(library_obj) \
	$(call obj,$(cli_src) $(zygote_src) $(keeper_src) $(server_src) $(worker_src) $(sql_src) $(relay_src) $(unit_src) $(unit_help) $(fuzz_src) $(soak_src) $(errors_src) $(mcp_src) $(bench_src)) \
	$(BUILD)/obj/tests/fuzz/replay.o) $(hostiles:%=%.d) $(BUILD)/mkfilter.d

# ---- using --------------------------------------------------------------------------------------

.PHONY: run test lint asan bench fuzz format clean install uninstall help deps

deps: ## install the Debian packages that building needs
	@tools/deps build

run: ## build, then show hotcell at work
	@tools/deps build run
	@tools/deps pictures || echo 'deps: pictures will be told of, not shown'
	@$(submake) all
	@HOTCELL=$(abspath $(BUILD))/hotcell tools/demo

test: ## run every test this machine can run
	@tools/deps build run
	@tools/deps test pictures || echo 'deps: tests that need them will be skipped'
	@$(submake) all tests
	@BUILD=$(BUILD) tools/test-run

lint: ## formatting, layers, banned calls, static analysis
	@tools/deps build lint
	@$(submake) $(gen_src) compile_commands.json
	@BUILD=$(BUILD) tools/lint

asan: ## unit tests, fuzz seeds, e2e and load with address and undefined-behaviour sanitizers
	@tools/deps build run
	@tools/deps test || echo 'deps: tests that need them will be skipped'
	@$(submake) BUILD=build-asan SANITIZE=address,undefined all tests
	@BUILD=build-asan tools/test-run unit fuzz e2e load

fuzz: ## fuzz every parser for FUZZ_SECONDS each (libFuzzer, clang)
	@tools/deps build lint
	@$(submake) BUILD=build-fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined fuzzers
	@BUILD=build-fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz-run

bench: ## run the benchmarks
	@tools/deps build run
	@tools/deps bench || echo 'deps: comparisons that need them will be left out'
	@$(submake) all
	@BUILD=$(BUILD) tools/bench-run

format: ## rewrite the C sources in the house format
	@tools/c-files | xargs clang-format -i

# Written from the same variables the compiler is called with; editors and clang-tidy read it.
compile_commands.json: Makefile $(flags) $(lib_src) $(library_src) $(cli_src) $(zygote_src) $(keeper_src) $(server_src) $(worker_src) $(sql_src) $(relay_src) $(unit_src) $(fuzz_src) $(soak_src) $(bench_src)
	@tools/compile-commands "$(CC)" '$(subst ','\'',$(CPPFLAGS_ALL) -Itests -Iruntimes -Iinclude $(CFLAGS_ALL) \
		$(addprefix -isystem ,$(dir $(python_include))))' \
		$(if $(module),$(wildcard src/interpreter/*.c)) $(lib_src) $(library_src) $(gen_src) $(cli_src) \
		$(zygote_src) $(keeper_src) $(server_src) $(worker_src) $(sql_src) $(relay_src) $(unit_src) $(unit_help) \
		$(fuzz_src) $(wildcard tests/fuzz/replay.c) $(soak_src) $(errors_src) $(mcp_src) $(bench_src) >$@

install: all ## install below $(DESTDIR)$(PREFIX)
	install -D -m 755 $(BUILD)/hotcell $(DESTDIR)$(PREFIX)/bin/hotcell
	install -D -m 755 $(BUILD)/hotcelld $(DESTDIR)$(PREFIX)/bin/hotcelld
	install -D -m 755 $(BUILD)/hotcell-zygote $(DESTDIR)$(PREFIX)/lib/hotcell/hotcell-zygote
	install -D -m 755 $(BUILD)/hotcell-keeper $(DESTDIR)$(PREFIX)/lib/hotcell/hotcell-keeper
	install -D -m 755 $(BUILD)/hotcell-worker $(DESTDIR)$(PREFIX)/lib/hotcell/hotcell-worker
	install -D -m 755 $(BUILD)/hotcell-repl $(DESTDIR)$(PREFIX)/lib/hotcell/hotcell-repl
	install -D -m 755 $(BUILD)/hotcell-token $(DESTDIR)$(PREFIX)/lib/hotcell/hotcell-token
	install -D -m 755 $(BUILD)/hotcell-bench $(DESTDIR)$(PREFIX)/lib/hotcell/hotcell-bench
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/lib/hotcell/bench $(filter-out %.py,$(benches))
	install -m 644 -t $(DESTDIR)$(PREFIX)/lib/hotcell/bench $(filter %.py,$(benches))
	cd $(BUILD)/runtimes && find . -type f ! -perm -100 -exec install -D -m 644 {} \
		$(DESTDIR)$(PREFIX)/lib/hotcell/runtimes/{} \;
	cd $(BUILD)/runtimes && find . -type f -perm -100 -exec install -D -m 755 {} \
		$(DESTDIR)$(PREFIX)/lib/hotcell/runtimes/{} \;
	cd docs && find . \( -name '*.md' -o -name '*.png' \) -exec install -D -m 644 {} $(DESTDIR)$(PREFIX)/share/doc/hotcell/{} \;
	install -m 644 README.md NEWS LICENSE $(DESTDIR)$(PREFIX)/share/doc/hotcell/
	install -D -m 644 include/hotcell.h $(DESTDIR)$(PREFIX)/include/hotcell.h
	install -m 755 $(BUILD)/libhotcell.so.$(SO_VERSION) $(DESTDIR)$(PREFIX)/lib/
	ln -sf libhotcell.so.$(SO_VERSION) $(DESTDIR)$(PREFIX)/lib/libhotcell.so
	test ! -f $(BUILD)/libhotcell.a || install -m 644 $(BUILD)/libhotcell.a $(DESTDIR)$(PREFIX)/lib/
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' src/lib/hotcell.pc.in \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/hotcell.pc
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/python3/dist-packages/hotcell python/hotcell/*.py \
		python/hotcell/py.typed
	install -D -m 644 man/hotcell.3 $(DESTDIR)$(PREFIX)/share/man/man3/hotcell.3
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/lib/systemd/user
	for unit in hotcelld hotcell-keeper; do sed 's|/usr/local|$(PREFIX)|' packaging/systemd/$$unit.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit.service; done
	sed 's|/usr/local|$(PREFIX)|' packaging/systemd/hotcelld-user.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/user/hotcelld.service
	test ! -f man/hotcell.1 || \
		install -D -m 644 man/hotcell.1 $(DESTDIR)$(PREFIX)/share/man/man1/hotcell.1

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/lib/systemd/system/hotcelld.service $(DESTDIR)$(PREFIX)/lib/systemd/system/hotcell-keeper.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/user/hotcelld.service
	rm -f $(DESTDIR)$(PREFIX)/bin/hotcell $(DESTDIR)$(PREFIX)/bin/hotcelld \
		$(DESTDIR)$(PREFIX)/share/man/man1/hotcell.1 $(DESTDIR)$(PREFIX)/share/man/man3/hotcell.3 \
		$(DESTDIR)$(PREFIX)/include/hotcell.h $(DESTDIR)$(PREFIX)/lib/pkgconfig/hotcell.pc \
		$(addprefix $(DESTDIR)$(PREFIX)/lib/libhotcell.,a so so.$(SO_VERSION))
	rm -rf $(DESTDIR)$(PREFIX)/lib/hotcell $(DESTDIR)$(PREFIX)/lib/python3/dist-packages/hotcell $(DESTDIR)$(PREFIX)/share/doc/hotcell

clean: ## remove every build directory
	rm -rf build build-asan build-fuzz $(filter-out /,$(BUILD)) compile_commands.json

help: ## list the targets
	@echo 'make            build $(BUILD)/hotcell and $(BUILD)/hotcell-zygote'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'variables: CC BUILD SANITIZE PREFIX DESTDIR FUZZ_SECONDS JOBS CFLAGS LDFLAGS V=1'
