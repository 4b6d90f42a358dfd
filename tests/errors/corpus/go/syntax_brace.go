package main

func main() {
	println(1)
