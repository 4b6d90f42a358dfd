<?php
if (true) {
  echo 1;
