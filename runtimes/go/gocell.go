// SPDX-License-Identifier: Apache-2.0

// gocell FILE BINARY PREPARED compiles a person's Go code in a cell.
//
// A whole file is compiled as it is. A snippet becomes one: without a package clause it gets
// "package main", without main() its statements become main(), and what it uses of the standard
// library without importing it is imported. Line directives keep every line the person's own.
//
// Code that needs nothing but the standard library goes straight to the compiler and the linker,
// with the archives that were prepared: the go command would only find out again what is known.
// Modules, cgo and embedded files are left to the go command.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// word is one token of the snippet.
type word struct {
	offset int
	tok    token.Token
	lit    string
}

// scan passes over what is wrong with the source: the compiler says that best.
func scan(src []byte) []word {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, func(token.Position, string) {}, 0)
	var words []word
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return words
		}
		words = append(words, word{file.Offset(pos), tok, lit})
	}
}

// chunk is one statement or declaration on the outermost level.
type chunk struct {
	start, end int // offsets in the source
	words      []word
}

// split cuts the source where a semicolon, written or not, stands outside all brackets.
func split(src []byte, words []word) []chunk {
	var chunks []chunk
	depth, first := 0, -1
	for i, w := range words {
		if first < 0 {
			first = i
		}
		switch w.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON:
			if depth > 0 {
				continue
			}
			end := w.offset
			if w.lit == ";" {
				end++
			}
			if end > len(src) {
				end = len(src)
			}
			if i > first {
				chunks = append(chunks, chunk{words[first].offset, end, words[first:i]})
			}
			first = -1
		}
	}
	if first >= 0 {
		chunks = append(chunks, chunk{words[first].offset, len(src), words[first:]})
	}
	return chunks
}

// isFunction tells a declaration from a statement that begins with a function literal.
func isFunction(words []word) bool {
	if len(words) < 2 || words[0].tok != token.FUNC {
		return false
	}
	if words[1].tok == token.IDENT {
		return true
	}
	depth := 0
	for i := 1; i < len(words); i++ {
		switch words[i].tok {
		case token.LPAREN:
			depth++
		case token.RPAREN:
			depth--
			if depth == 0 { // behind the receiver: a name and its parameters
				return i+2 < len(words) && words[i+1].tok == token.IDENT &&
					words[i+2].tok == token.LPAREN
			}
		}
	}
	return false
}

// wrapping is a snippet on its way to a file.
type wrapping struct {
	src  []byte
	name string // for line directives
	out  bytes.Buffer
}

func (w *wrapping) put(c chunk) {
	line := 1 + bytes.Count(w.src[:c.start], []byte("\n"))
	column := c.start - bytes.LastIndexByte(w.src[:c.start], '\n')
	fmt.Fprintf(&w.out, "\n//line %s:%d:%d\n%s\n", w.name, line, column, w.src[c.start:c.end])
}

// whole makes a file of a snippet that has no package clause.
func (w *wrapping) whole(chunks []chunk) {
	var outside, inside []chunk
	hasMain := false
	for _, c := range chunks {
		first := c.words[0].tok
		switch {
		case first == token.IMPORT:
			w.put(c)
		case isFunction(c.words):
			hasMain = hasMain || c.words[1].lit == "main"
			outside = append(outside, c)
		case first == token.TYPE || first == token.CONST:
			outside = append(outside, c)
		case first == token.VAR && len(inside) == 0:
			// before the first statement it can only be meant for all functions
			outside = append(outside, c)
		default:
			inside = append(inside, c)
		}
	}
	for _, c := range outside {
		w.put(c)
	}
	if hasMain && len(inside) == 0 {
		return
	}
	w.out.WriteString("\nfunc main() {")
	for _, c := range inside {
		w.put(c)
	}
	w.out.WriteString("\n}\n")
}

// preferred of several packages with one name.
var preferred = map[string]string{"rand": "math/rand", "template": "text/template", "scanner": "text/scanner",
	"pprof": "runtime/pprof"}

// missing finds packages of the standard library that are used by name and not imported.
func missing(file *ast.File, prepared string) []string {
	used := map[string]bool{}
	unresolved := map[*ast.Ident]bool{}
	for _, ident := range file.Unresolved {
		unresolved[ident] = true
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if ident, ok := selector.X.(*ast.Ident); ok && unresolved[ident] {
				used[ident.Name] = true
			}
		}
		return true
	})
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		delete(used, filepath.Base(path))
		if spec.Name != nil {
			delete(used, spec.Name.Name)
		}
	}
	names, _ := os.ReadFile(filepath.Join(prepared, "names"))
	found := map[string]string{}
	for _, line := range strings.Split(string(names), "\n") {
		name, path, ok := strings.Cut(line, " ")
		if ok && used[name] && found[name] == "" {
			found[name] = path
		}
	}
	var paths []string
	for name, path := range found {
		if better := preferred[name]; better != "" {
			path = better
		}
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return paths
}

// wrap returns the file to compile; the second result tells whether it is another than the
// person's.
func wrap(src []byte, name, prepared string) ([]byte, bool) {
	words := scan(src)
	if len(words) > 0 && words[0].tok == token.PACKAGE {
		return src, false
	}
	w := &wrapping{src: src, name: name}
	w.whole(split(src, words))
	body := w.out.String()
	file, err := parser.ParseFile(token.NewFileSet(), "", "package main\n"+body, 0)
	head := "package main\n"
	if err == nil {
		for _, path := range missing(file, prepared) {
			head += fmt.Sprintf("import %q\n", path)
		}
	}
	return []byte(head + body), true
}

// needsGo tells code for the go command: modules, cgo, embedded files, packages we did not
// prepare.
func needsGo(src []byte, known map[string]bool) bool {
	if _, err := os.Stat("go.mod"); err == nil {
		return true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return false
	}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if path == "C" || path == "embed" || (path != "unsafe" && !known[path]) {
			return true
		}
	}
	return false
}

func knownPackages(importcfg string) map[string]bool {
	known := map[string]bool{}
	text, err := os.ReadFile(importcfg)
	if err != nil {
		fail(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		path, _, _ := strings.Cut(strings.TrimPrefix(line, "packagefile "), "=")
		known[path] = true
	}
	return known
}

// call runs a tool; its words come out with the person's names for things.
func call(names *strings.Replacer, program string, args ...string) {
	command := exec.Command(program, args...)
	out, err := command.CombinedOutput()
	if len(out) > 0 {
		_, _ = names.WriteString(os.Stderr, string(out))
	}
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fail(err)
	}
}

// relative writes a file of the working directory as the go command does.
func relative(file string) string {
	if filepath.IsAbs(file) || strings.HasPrefix(file, "./") {
		return file
	}
	return "./" + file
}

// direct compiles and links without the go command.
func direct(file, binary, prepared string, names *strings.Replacer) {
	importcfg := filepath.Join(prepared, "importcfg")
	tools, err := os.ReadFile(filepath.Join(prepared, "tools"))
	if err != nil {
		fail(err)
	}
	dir := strings.TrimSpace(string(tools))
	archive := filepath.Join(os.TempDir(), "main.a")
	call(names, filepath.Join(dir, "compile"), "-o", archive, "-p", "main", "-complete", "-pack",
		"-importcfg", importcfg, "-c", "2", relative(file))
	// nobody debugs in a cell; traces do not need what is left out
	call(names, filepath.Join(dir, "link"), "-o", binary, "-importcfg", importcfg, "-s", "-w",
		"-buildmode=exe", archive)
}

// layer shows the prepared cache below a private one: go writes beside the links.
func layer(below, above string) {
	dirs, _ := os.ReadDir(below)
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		if os.MkdirAll(filepath.Join(above, dir.Name()), 0o755) != nil {
			return
		}
		files, _ := os.ReadDir(filepath.Join(below, dir.Name()))
		for _, file := range files {
			_ = os.Symlink(filepath.Join(below, dir.Name(), file.Name()),
				filepath.Join(above, dir.Name(), file.Name()))
		}
	}
}

// withGo has the go command build the package that the file belongs to, or the file alone.
func withGo(file, binary, prepared string, isWrapped bool, names *strings.Replacer) {
	cache := filepath.Join(os.TempDir(), "go-cache")
	layer(filepath.Join(prepared, "cache"), cache)
	settings := map[string]string{"GOCACHE": cache, "GOPATH": filepath.Join(os.TempDir(), "go"),
		"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GONOSUMDB": "*", "GOTELEMETRY": "off"}
	if _, err := os.Stat("vendor/modules.txt"); err == nil {
		settings["GOFLAGS"] = "-mod=vendor"
	}
	what := file
	if _, err := os.Stat("go.mod"); err == nil && !isWrapped {
		what = "./"
	}
	for name, value := range settings {
		_ = os.Setenv(name, value)
	}
	call(names, "/usr/bin/go", "build", "-o", binary, relative(what))
}

func main() {
	if len(os.Args) != 4 {
		fail(fmt.Errorf("usage: gocell FILE BINARY PREPARED"))
	}
	file, binary, prepared := os.Args[1], os.Args[2], os.Args[3]
	src, err := os.ReadFile(file)
	if err != nil {
		fail(err)
	}
	here, _ := os.Getwd()
	shown := filepath.Join(here, file)
	text, isWrapped := wrap(src, shown, prepared)
	if isWrapped || !strings.HasSuffix(file, ".go") {
		if !isWrapped {
			text = append([]byte(fmt.Sprintf("//line %s:1:1\n", shown)), text...)
		}
		file = filepath.Join(os.TempDir(), "hotcell-main.go")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			fail(err)
		}
	}
	names := strings.NewReplacer("# command-line-arguments\n", "", here+"/", "./")
	if needsGo(text, knownPackages(filepath.Join(prepared, "importcfg"))) {
		withGo(file, binary, prepared, isWrapped, names)
	} else {
		direct(file, binary, prepared, names)
	}
}
