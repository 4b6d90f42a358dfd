use strict;
use warnings;
use Acme::NotThere;
