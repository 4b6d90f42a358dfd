package main

import "errors"

func main() {
	panic(errors.New("too late"))
}
