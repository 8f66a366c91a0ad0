package operate
