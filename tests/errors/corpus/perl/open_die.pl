use strict;
use warnings;
open(my $f, '<', 'data.txt') or die "cannot open: $!";
