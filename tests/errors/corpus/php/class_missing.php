<?php
new Foo();
