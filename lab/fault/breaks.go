package main

import "adnet/lab/product"

// breaks lists the protections that a build can omit.
var breaks = product.Cures{
	"spool": {Breach: "acknowledged beacons are lost", Without: []product.Replacement{{
		File: "ingress/track/recorder.go",
		Old: "	spooled := make(chan error, 1)\n	r.spool.Append(event.TopicEvents, e.AuctionId, value, func(err error) " +
			"{ spooled <- err })\n",
		New: "	spooled := make(chan error, 1)\n	spooled <- nil\n",
	}}},
	"double": {Breach: "events took effect twice", Without: []product.Replacement{{
		File: "internal/ledger/decide.go", Old: "	return first\n}", New: "	return first || true\n}",
	}}},
}
