<?php
$total = 1;
function f(int $x) { return $x; }
f($totl);
