use JSON::XS;
use Text::CSV_XS;
use Moose;
