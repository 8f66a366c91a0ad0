package main

import "adnet/lab/product"

// breaks lists the cures that a run can do without, to prove that the suite notices.
var breaks = map[string][]product.Replacement{}
