int main(void)
{
	int *p = mallocc(4);
	return p != 0;
}
