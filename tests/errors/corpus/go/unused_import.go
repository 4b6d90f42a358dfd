package main

import "os"

func main() {
}
