package suitability

import (
	"slices"
	"unicode/utf8"

	"adnet/internal/compliance/adtext"
)

// token is a word, a sign of a script without spaces, or a number.
type token struct {
	from, to int32 // range of its letters
	hash     uint64
	item     uint32 // of the rules, 0 for none
	sentence int32
	number   int32 // its value, -1 for a word
	sign     bool
	whole    bool // a number that is not part of a time, an amount or a version
	quoted   bool // between quotation marks: quoted words, or an example
}

// longestWord is the number of letters read of a word: longer ones are noise.
const longestWord = 64

// tokens holds a text as its words. The zero value is ready.
type tokens struct {
	letters []rune
	list    []token
	chunk   []rune // the current word as typed
	odd     bool   // the chunk has other characters than letters
	known   *vocabulary
	at      int32 // sentence
	quoted  bool
	joined  []rune
	steps   int // counted by the test for linear cost
}

func (t *tokens) reset() {
	t.letters, t.list, t.chunk, t.odd, t.at = t.letters[:0], t.list[:0], t.chunk[:0], false, 0
	t.quoted = false
}

// read reads a text into tokens.
func (t *tokens) read(text string) {
	t.reset()
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			t.steps++
			i++
			switch {
			case c >= 'a' && c <= 'z':
				t.chunk = append(t.chunk, rune(c))
			case c >= 'A' && c <= 'Z':
				t.chunk = append(t.chunk, rune(c)+'a'-'A')
			case c == ' ':
				t.end()
			default:
				t.other(read(rune(c)), rune(c), text[i:])
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		t.steps++
		if r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 { // Han and Hangul: as they are
			t.end()
			t.emitSign(r)
			continue
		}
		t.other(read(r), r, text[i:])
	}
	t.end()
	t.join()
}

// other reads a character that is not a plain letter; rest is the text after it.
func (t *tokens) other(g glyph, r rune, rest string) {
	switch g.kind {
	case letter:
		t.chunk = append(t.chunk, g.letters...)
	case digit:
		t.chunk, t.odd = append(t.chunk, g.letters[0]), true
	case joins, nothing: // the word continues without it
	case sign:
		t.end()
		for _, part := range g.letters {
			t.emitSign(part)
		}
	case mask:
		t.chunk, t.odd = append(t.chunk, g.letters[0]), true
	case quote:
		t.end()
		t.quoted = !t.quoted && (isOpening(r) || r == '"' || r == '＂')
	case stop:
		if t.within(r, rest) {
			t.chunk, t.odd = append(t.chunk, r), true
			return
		}
		ordinal := r == '.' &&
			(allDigits(t.chunk) || rest != "" && (isDigit(rune(rest[0])) || rest[0] >= utf8.RuneSelf))
		t.end()
		if !ordinal {
			t.at++
		}
	default:
		if t.within(r, rest) {
			t.chunk, t.odd = append(t.chunk, r), true
			return
		}
		t.end()
	}
}

// within reports whether a character is part of a word or a number: a dot between letters hides
// them, and a dot between digits belongs to a time or an amount.
func (t *tokens) within(r rune, rest string) bool {
	if len(t.chunk) == 0 || rest == "" {
		return false
	}
	last, next := t.chunk[len(t.chunk)-1], rune(rest[0])
	digits := isDigit(last) && isDigit(next)
	letters := isLetter(last) && isLetter(next|0x20)
	switch r {
	case '.', '-':
		return digits || letters
	case '!':
		return letters
	case ':', ',', '/':
		return digits
	}
	return false
}

// allDigits reports whether a chunk is a number: a dot after it makes an ordinal.
func allDigits(chunk []rune) bool {
	return len(chunk) > 0 && !slices.ContainsFunc(chunk, func(r rune) bool { return !isDigit(r) })
}

func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
func isLetter(r rune) bool { return r >= 'a' && r <= 'z' }

// end ends the current word.
func (t *tokens) end() {
	if len(t.chunk) == 0 {
		return
	}
	if len(t.chunk) > longestWord {
		t.chunk = t.chunk[:longestWord]
	}
	if t.odd {
		t.resolve(t.chunk)
	} else {
		t.word(t.chunk)
	}
	t.chunk, t.odd = t.chunk[:0], false
}

// word emits a word of letters, either with its own letters or as the intended word of the rules.
func (t *tokens) word(letters []rune) {
	hash := hashOf(letters)
	item := t.item(hash)
	if t.known == nil || item != 0 || !t.meant(letters, hash) {
		t.emit(letters, hash, item)
	}
}

// item returns the item of a word or a sign in the rules, or 0.
func (t *tokens) item(hash uint64) uint32 {
	if t.known == nil {
		return 0
	}
	return t.known.item(hash)
}

func (t *tokens) emit(letters []rune, hash uint64, item uint32) {
	from := int32(len(t.letters))
	t.letters = append(t.letters, letters...)
	t.list = append(
		t.list,
		token{
			from: from, to: int32(len(t.letters)), hash: hash, item: item, sentence: t.at, number: -1, quoted: t.quoted,
		},
	)
}

// emitMended emits a word of the rules in place of the typed one.
func (t *tokens) emitMended(word []uint16) {
	t.joined = t.joined[:0]
	for _, r := range word {
		t.joined = append(t.joined, rune(r))
	}
	hash := hashOf(t.joined)
	t.emit(t.joined, hash, t.item(hash))
}

func (t *tokens) emitSign(r rune) {
	from := int32(len(t.letters))
	t.letters = append(t.letters, r)
	hash := hashOf(t.letters[from:])
	t.list = append(
		t.list,
		token{
			from: from, to: from + 1, hash: hash, item: t.item(hash), sentence: t.at, number: -1, sign: true,
			quoted: t.quoted,
		},
	)
}

func (t *tokens) emitNumber(digits []rune, whole bool) {
	value := int32(0)
	for _, d := range digits {
		value = min(value*10+int32(d-'0'), 1_000_000)
	}
	from, hash := int32(len(t.letters)), hashOf(digits)
	t.letters = append(t.letters, digits...)
	t.list = append(t.list, token{
		from: from, to: int32(len(t.letters)), hash: hash, item: t.item(hash), sentence: t.at, number: value,
		whole: whole, quoted: t.quoted,
	})
}

// meant emits the intended word of the rules if it was misspelt, masked or joined to others. It
// returns false if there is none.
func (t *tokens) meant(letters []rune, hash uint64) bool {
	if plain, changed := t.plain(letters); changed {
		t.word(plain)
		return true
	}
	if t.known.known.has(hash) {
		return false
	}
	if word, ok := t.known.near(letters, hash, &t.steps); ok {
		t.emitMended(word)
		return true
	}
	return t.apart(letters)
}

// plain returns a word without lookalike letters of another alphabet and without repeats for
// emphasis; changed is false if there are none.
func (t *tokens) plain(letters []rune) (plain []rune, changed bool) {
	ascii, others, run, longest := 0, 0, 1, 1
	for i, r := range letters {
		if isLetter(r) {
			ascii++
		} else if r < 0x600 {
			others++
		}
		if i > 0 && r == letters[i-1] {
			run++
			longest = max(longest, run)
		} else {
			run = 1
		}
	}
	mixed := ascii > 0 && others > 0
	if !mixed && longest < 3 {
		return nil, false
	}
	t.joined = t.joined[:0]
	run = 0
	for i, r := range letters {
		if like := rune(0); mixed && !isLetter(r) {
			if like = adtext.Looks(r); like != 0 {
				r, changed = like, true
			}
		}
		if run++; i == 0 || letters[i-1] != letters[i] {
			run = 1
		}
		if run > 2 {
			changed = true
			continue
		}
		t.joined = append(t.joined, r)
	}
	return append([]rune(nil), t.joined...), changed
}

// fewestJoined is the minimum length of a word that is split into several.
const fewestJoined = 7

// apart emits a word as several words of the rules that were joined: killmyself.
func (t *tokens) apart(letters []rune) bool {
	if len(letters) < fewestJoined {
		return false
	}
	var from [longestWord + 1]int8 // by end: the start of the word that ends here, plus one; 0 for none
	from[0] = 1
	for i := range letters {
		if from[i] == 0 {
			continue
		}
		h := uint64(offset)
		for j := i; j < len(letters) && j-i < longestPart; j++ {
			h = hashOn(h, letters[j])
			t.steps++
			if from[j+1] == 0 && t.known.part(h) {
				from[j+1] = int8(i + 1)
			}
		}
	}
	if from[len(letters)] == 0 || from[len(letters)] == 1 {
		return false
	}
	var ends [longestWord]int8
	n := 0
	for at := len(letters); at > 0; at = int(from[at]) - 1 {
		ends[n] = int8(at)
		n++
	}
	start := 0
	for n--; n >= 0; n-- {
		hash := hashOf(letters[start:ends[n]])
		t.emit(letters[start:ends[n]], hash, t.item(hash))
		start = int(ends[n])
	}
	return true
}

// longestPart is the maximum length of a word that others may be joined to.
const longestPart = 14

// resolve emits the words or numbers behind a chunk of letters, digits and signs.
func (t *tokens) resolve(chunk []rune) {
	amount := slices.ContainsFunc(
		chunk, func(r rune) bool { return r == '%' || r == '€' || r == '$' || r == '£' || r == '+' },
	)
	for len(chunk) > 0 && (isMask(chunk[len(chunk)-1]) && chunk[len(chunk)-1] != '*' && chunk[len(chunk)-1] != '$') {
		chunk = chunk[:len(chunk)-1]
	}
	if t.known != nil && !former(chunk) && t.unmask(chunk) {
		return
	}
	t.split(chunk, amount)
}

// unmask emits the word of the rules whose letters were replaced. It returns false if there is
// none.
func (t *tokens) unmask(chunk []rune) bool {
	letters, others := 0, 0
	for _, r := range chunk {
		switch {
		case isDigit(r) || isMask(r) || r == '!' || r == '-' || r == '.':
			others++
		default:
			letters++
		}
	}
	if letters == 0 || others == 0 || letters+others < 3 || others > letters+1 {
		return false
	}
	for _, like := range [...]rune{'i', 'l'} {
		t.joined = t.joined[:0]
		for _, r := range chunk {
			switch as, stands := stands[r]; {
			case r == '1' || r == '|' || r == '!':
				t.joined = append(t.joined, like)
			case stands:
				t.joined = append(t.joined, as)
			case r == '.' || r == '-' || r == '_':
			case isMask(r):
				t.joined = append(t.joined, hidden)
			default:
				t.joined = append(t.joined, r)
			}
		}
		if word, ok := t.known.hidden(t.joined, &t.steps); ok {
			t.emitMended(word)
			return true
		}
	}
	return false
}

// former reports whether a chunk names a former husband, wife or friend in languages of the Latin
// script: ex-marido. The rules have it as two words.
func former(chunk []rune) bool {
	return len(chunk) > 3 && chunk[0] == 'e' && chunk[1] == 'x' && chunk[2] == '-'
}

// split emits the words and numbers of a chunk; single letters form one word.
func (t *tokens) split(chunk []rune, amount bool) {
	singles, pieces, numbers := 0, 0, 0
	for i := 0; i < len(chunk); {
		j := pieceEnd(chunk, i)
		switch {
		case isDigit(chunk[i]):
			numbers++
		case !isMask(chunk[i]) && !isPunct(chunk[i]):
			pieces++
			if j-i == 1 {
				singles++
			}
		}
		i = j
	}
	if singles == pieces && singles >= 3 && numbers == 0 {
		t.joined = t.joined[:0]
		for _, r := range chunk {
			if !isMask(r) && !isPunct(r) {
				t.joined = append(t.joined, r)
			}
		}
		t.word(append([]rune(nil), t.joined...))
		return
	}
	for i := 0; i < len(chunk); {
		j := pieceEnd(chunk, i)
		switch {
		case isDigit(chunk[i]):
			t.emitNumber(chunk[i:j], numbers == 1 && !amount)
		case isPunct(chunk[i]):
			if chunk[i] == '.' || chunk[i] == '!' {
				t.at++
			}
		case !isMask(chunk[i]):
			t.word(chunk[i:j])
		}
		i = j
	}
}

func isPunct(r rune) bool {
	return r == '.' || r == '-' || r == '!' || r == ':' || r == ',' || r == '/'
}

// pieceEnd returns the end of the piece of one kind that begins at i.
func pieceEnd(chunk []rune, i int) int {
	kindOf := func(r rune) int {
		switch {
		case isDigit(r):
			return 1
		case isMask(r) || isPunct(r):
			return 2
		}
		return 0
	}
	j := i + 1
	for j < len(chunk) && kindOf(chunk[j]) == kindOf(chunk[i]) {
		j++
	}
	return j
}

// join joins single letters into the words that they spell: k i l l.
func (t *tokens) join() {
	if t.known == nil {
		return
	}
	alone := 0
	for i := range t.list {
		if t.single(i) {
			if alone++; alone >= fewestSpelt {
				t.spell()
				return
			}
		} else {
			alone = 0
		}
	}
}

// fewestSpelt is the minimum number of single letters that form a word.
const fewestSpelt = 4

func (t *tokens) single(i int) bool {
	tok := &t.list[i]
	return !tok.sign && tok.number < 0 && tok.to-tok.from == 1
}

// spell reads the whole text again with runs of single letters as one word.
func (t *tokens) spell() {
	old := append([]token(nil), t.list...)
	letters := append([]rune(nil), t.letters...)
	t.list, t.letters = t.list[:0], t.letters[:0]
	for i := 0; i < len(old); {
		j := i
		for j < len(old) && !old[j].sign && old[j].number < 0 && old[j].to-old[j].from == 1 {
			j++
		}
		if j-i < fewestSpelt {
			j = i + 1
			tok := old[i]
			from := int32(len(t.letters))
			t.letters = append(t.letters, letters[tok.from:tok.to]...)
			tok.from, tok.to = from, int32(len(t.letters))
			t.list = append(t.list, tok)
			i = j
			continue
		}
		t.at = old[i].sentence
		for part := letters[old[i].from:old[j-1].to]; len(part) > 0; part = part[min(len(part), longestWord):] {
			t.word(append([]rune(nil), part[:min(len(part), longestWord)]...))
		}
		i = j
	}
}

// Hashes of words (FNV-1a over code points).
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func hashOn(h uint64, r rune) uint64 { return (h ^ uint64(r)) * prime }

func hashOf(letters []rune) uint64 {
	h := uint64(offset)
	for _, r := range letters {
		h = hashOn(h, r)
	}
	return h
}
