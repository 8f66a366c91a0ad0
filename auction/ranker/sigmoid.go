package ranker

// sigmoidStep is the distance between the points of sigmoids, in log-odds of 1/256.
const sigmoidStep = 64

// sigmoids are the probabilities, in parts per million, of the log-odds 0, 1/4, … 16.
var sigmoids = [...]PPM{
	500000, 562177, 622459, 679179, 731059, 777300, 817574, 851953, 880797, 904651,
	924142, 939913, 952574, 962673, 970688, 977023, 982014, 985936, 989013, 991423,
	993307, 994780, 995930, 996827, 997527, 998073, 998499, 998830, 999089, 999290,
	999447, 999569, 999665, 999739, 999797, 999842, 999877, 999904, 999925, 999942,
	999955, 999965, 999972, 999979, 999983, 999987, 999990, 999992, 999994, 999995,
	999996, 999997, 999998, 999998, 999999, 999999, 999999, 999999, 999999, 1000000,
	1000000, 1000000, 1000000, 1000000, 1000000,
}

// probability returns the probability for log-odds in units of 1/256.
func probability(odds int32) PPM {
	if odds < 0 {
		return Certain - probability(-odds)
	}
	at := int(odds / sigmoidStep)
	if at >= len(sigmoids)-1 {
		return sigmoids[len(sigmoids)-1]
	}
	from, to := sigmoids[at], sigmoids[at+1]
	return from + (to-from)*PPM(odds%sigmoidStep)/sigmoidStep
}
