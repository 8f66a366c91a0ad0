package words

import "unicode/utf8"

// weak reports whether a word in lower case carries no intent by itself.
func weak(word string) bool {
	if len(word) == 1 || word[0] >= utf8.RuneSelf && utf8.RuneCountInString(word) == 1 {
		return true
	}
	return smallNumber(word)
}

// smallNumber reports whether word has one or two digits: times, counts and positions in a list.
func smallNumber(word string) bool {
	return len(word) <= 2 && word[0] >= '0' && word[0] <= '9' && word[len(word)-1] >= '0' && word[len(word)-1] <= '9'
}

// urlWord reports whether word is a common part of URLs.
func urlWord(word string) bool {
	switch word {
	case "http", "https", "www", "com", "org", "net", "html", "htm", "php", "index":
		return true
	}
	return false
}

// commonWords are English words that carry little meaning by themselves: first those of grammar,
// then those of requests and ads of any topic.
var commonWords = setOf(`
	a an am and are aren as at be been being but by can could couldn d did didn do does doesn doing don for from
	had hadn has hasn have haven having he her here hers him his how i if in into is isn it its itself
	let ll me my myself of on or our ours please re s she shouldn so t than thank thanks that the their theirs them
	then there these they
	this those to us ve was wasn we were weren what which will with won would wouldn you your yours yourself
	hey hi hello im ive id youre dont doesnt cant whats thats ok okay
	about above after again all also any because before below between both cannot down during each else ever every
	few further
	herself himself just may might more most must no nor not now off once only other out over own same shall should
	some such
	themselves through too under until up upon very when where whether while who whom whose why yes
	able actually add additional allow already always another answer anything around ask assist available back based
	become believe best better big bring
	call change check come consider create currently day days detail details different discover easy enough ensure
	example explain explore
	fast feel find first free full get gets getting give gives giving go goes going good got great
	help helpful helps high idea important include including info information interested involve issue it keep kind know
	last later latest learn like list little long look looking lot love made make makes making many mean means much
	need needs new next nice number offer offers old one ones option options order part people person place platform
	possible powerful problem provide provides
	provided question questions quick quickly read ready really reason recent recently recommend recommendation
	recommendations recommended related request right
	say search see seem send service services set share should show simple since site small something sort source
	specific start still suggest suggestion suggestions support sure
	take tell thing things think time times today together top topic total try trying two type update updates use
	used useful user users using
	various via view visit want wants way ways website well within without wonder wondering work world would year
	years yet
`)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	from := -1
	for i := 0; i <= len(list); i++ {
		letter := i < len(list) && list[i] >= 'a' && list[i] <= 'z'
		switch {
		case letter && from < 0:
			from = i
		case !letter && from >= 0:
			set[list[from:i]] = true
			from = -1
		}
	}
	return set
}
