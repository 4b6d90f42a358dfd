package main

func main() {
	var n int = "a"
	println(n)
}
