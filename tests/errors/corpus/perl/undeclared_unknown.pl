use strict;
use warnings;
$frobnicate = 1;
