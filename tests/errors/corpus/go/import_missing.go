package main

import "github.com/nobody/nothing"

func main() {
	nothing.Do()
}
