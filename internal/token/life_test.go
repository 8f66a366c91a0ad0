package token

import (
	"time"
)

// testLife is the default life of events; tokentest has it for other packages.
var testLife = Life{Impression: time.Hour, Click: 24 * time.Hour, Conversion: 30 * 24 * time.Hour}
