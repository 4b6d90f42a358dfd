<?php
json_decode('{', false, 512, JSON_THROW_ON_ERROR);
