use strict;
use warnings;
my $total = 1;
print $totl;
