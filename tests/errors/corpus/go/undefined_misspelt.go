package main

func main() {
	total := 1
	println(totl, total)
}
