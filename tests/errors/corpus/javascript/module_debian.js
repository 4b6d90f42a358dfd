const a = require('express');
