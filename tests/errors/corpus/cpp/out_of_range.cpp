#include <vector>

int main()
{
	std::vector<int> v(3);
	return v.at(5);
}
