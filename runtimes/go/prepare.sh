#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh GOCELL.GO DIR SHOWN   fills DIR, which later cells see read-only at SHOWN:
#
#   gocell      the program that compiles a person's code
#   importcfg   where each package of the standard library is, compiled; since Go 1.20 it does not
#               come with the toolchain, and lies in DIR/cache
#   cache       a build cache for code that needs the go command
#   names       the packages of the standard library, for code that imports nothing
#   tools       the directory of compile and link
set -eu
gocell=$1 dir=$2 shown=$3
mkdir "$dir" "$dir/cache"
export GOCACHE="$dir/cache" GO111MODULE=off GOTOOLCHAIN=local GOPROXY=off
go build -o "$dir/gocell" "$gocell"
go list -export -f '{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' std |
	sed "s,=$dir/,=$shown/," >"$dir/importcfg"
go list -f '{{.Name}} {{.ImportPath}}' std | grep -v -e internal -e vendor -e '^main ' >"$dir/names"
go env GOTOOLDIR >"$dir/tools"
go version >"$dir/version"
