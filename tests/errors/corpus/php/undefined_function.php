<?php
echo strlenn('a');
