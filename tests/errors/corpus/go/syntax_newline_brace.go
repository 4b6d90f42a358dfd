package main

func main()
{
}
