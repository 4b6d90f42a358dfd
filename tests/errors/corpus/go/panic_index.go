package main

func at(x []int, i int) int {
	return x[i]
}

func main() {
	println(at([]int{1, 2}, 5))
}
