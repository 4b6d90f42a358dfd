package main

func main() {
	frobnicate()
}
