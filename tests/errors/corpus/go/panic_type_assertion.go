package main

func main() {
	var x interface{} = "a"
	println(x.(int))
}
