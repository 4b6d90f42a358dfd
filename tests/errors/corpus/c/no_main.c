int helper(int n)
{
	return n;
}
