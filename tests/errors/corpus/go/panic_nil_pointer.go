package main

type T struct{ n int }

func main() {
	var t *T
	println(t.n)
}
