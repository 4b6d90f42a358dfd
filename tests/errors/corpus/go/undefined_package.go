package main

func main() {
	fmt.Println(1)
}
