<?php
throw new RuntimeException('too late');
