use strict;
use warnings;
my $x;
$x->run();
