package A; sub new { bless {}, shift } package main;
A->new->rn();
