use strict;
use warnings;
my $x = [1];
print $x->{a};
