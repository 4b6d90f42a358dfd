package main

func main() {
	a := 1
	b := 2.5
	println(a + b)
}
