int helper(int n);

int main(void)
{
	return helper(1);
}
