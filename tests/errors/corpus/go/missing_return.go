package main

func f() int {
}

func main() {
	println(f())
}
