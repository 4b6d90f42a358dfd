#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# compile.sh FILE DIR   compiles FILE into DIR and writes DIR/start, an argument file that names the
# class to start: the one called as the file is, else the first with a main().
#
# javac wants a public class in a file of its name. People do not always care, so a file with the
# wrong name is compiled under the right one; the messages keep the name that the person knows.
set -u
file=$1 dir=$2
name=$(basename "$file" .java)
public=$(sed -n 's/^[[:space:]]*public[[:space:]]\{1,\}\(.*[[:space:]]\)*\(class\|interface\|enum\|record\)[[:space:]]\{1,\}\([A-Za-z_$][A-Za-z0-9_$]*\).*/\3/p' \
	"$file" | head -n 1)
javac="/usr/bin/javac -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 -encoding UTF-8 -g -d $dir -cp ."
# shellcheck disable=SC2086 # a command and its words
if [ -n "$public" ] && [ "$public" != "$name" ]; then
	mkdir /tmp/source && cp "$file" "/tmp/source/$public.java" || exit 1
	{ $javac "/tmp/source/$public.java" 2>&1; echo $? >/tmp/source/status; } |
		sed "s,^/tmp/source/$public\.java:,$file:,"
	status=$(cat /tmp/source/status)
else
	$javac "$file"
	status=$?
fi
[ "$status" = 0 ] || exit "$status"

cd "$dir" || exit 1
start=
for class in "${public:-$name}.class" "$name.class" $(find . -name '*.class' | sort); do
	# a main() is a method of that name and type; both are in the table of constants
	if [ -f "$class" ] && grep -q '([[]Ljava/lang/String;)V' "$class" && grep -q main "$class"; then
		start=$(echo "$class" | sed 's,^\./,,; s,\.class$,,; y,/,.,')
		break
	fi
done
if [ -z "$start" ]; then
	echo "$file: error: no class has a method 'public static void main(String[] args)'" >&2
	exit 1
fi
echo "$start" >start
