int main()
{
	const int x = 1;
	x = 2;
}
