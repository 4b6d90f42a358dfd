int main()
{
	std::cout << 1;
}
