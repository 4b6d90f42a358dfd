package main

import "fmtt"

func main() {
	fmtt.Println(1)
}
