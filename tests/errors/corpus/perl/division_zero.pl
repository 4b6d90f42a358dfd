my $n = 0;
print 1 / $n;
