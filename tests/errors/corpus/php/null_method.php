<?php
$x = null;
$x->run();
