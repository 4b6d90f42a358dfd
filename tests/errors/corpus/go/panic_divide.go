package main

func main() {
	a, b := 1, 0
	println(a / b)
}
