consle.log(1);
