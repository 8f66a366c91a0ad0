package suitability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"adnet/internal/campaign/subject"
)

// ruleSet holds the rules of all languages, ready for matching. It is immutable.
//
// Phrases form a tree of items (words, stems, signs). A node where phrases end lists the classes of
// these. A rule is a sequence of classes.
type ruleSet struct {
	words   vocabulary
	nodes   []node
	edges   []uint16 // items; the node behind an edge has the edge's number plus one
	root    []uint32 // by item, the child of the root; 0 for none
	classes []uint16 // of the ends of phrases, concatenated
	uses    []use    // of classes in rules, concatenated
	usesOf  []span   // by class
	rules   []rule
	files   []string      // by rule.file
	unless  []subject.Set // by class
	marks   []uint64      // by class: its hash among the features of a text
	steps   uint32        // number of places for matches: one per class, then one per middle part of a rule
	special []string      // words that reveal something about a person and are too weak to decide
	age     uint32        // item of a number that may be an age
	units   uint32        // class of units that numbers count
	cover   uint32        // class of ordinary phrases
}

type (
	// node holds the starts of its edges and classes; they end where those of the next node begin.
	node struct{ edges, classes uint32 }
	span struct{ from, to uint32 }
	// use is a part of a rule that a class matches. The place before must have a match already,
	// which is cheaper to check than the rule; it is 0 for a rule of one part.
	use struct {
		rule, before uint32
		part         uint8
	}
	rule struct {
		subject subject.ID
		soft    bool
		any     bool
		parts   uint8
		gaps    [mostParts]int32 // before each part
		classes [mostParts]uint32
		middle  uint32 // place of its second part; the places of other middle parts follow
		file    uint8
		line    int32
	}
)

// rules compiles the rules once, when the first text is read.
var rules = sync.OnceValue(func() *ruleSet {
	all, err := languages()
	if err != nil {
		panic(err) // the files are part of the build, and a test reads them
	}
	compiled, err := compile(all)
	if err != nil {
		panic(err)
	}
	return compiled
})

// compiler collects phrases before they form a tree.
type compiler struct {
	set      *ruleSet
	items    map[uint64]uint32 // of words, by hash
	words    []wordItem        // by item; empty for stems
	stems    map[string]uint32
	phrases  []phrase
	classOf  map[partKey]uint32
	listed   map[string][]span // the phrases of the classes of the current language, by name
	row      []uint32          // the items of all phrases
	useClass []uint32          // by use
	reader   tokens
	class    uint32
	unless   map[uint32]subject.Set
}

// phrase is a sequence of items of a class.
type phrase struct {
	begins uint64 // its first items, as a sort key
	items  span   // a range of the row
	class  uint32
}

// keyed is the number of items in phrase.begins.
const keyed = 4

// partKey is a part as written; the words of some parts are mended.
type partKey struct {
	language, part string
	mend           bool
}

// Initial capacities that suffice for the rules of the build: growing costs time and garbage.
const (
	roomPhrases = 1 << 18
	roomItems   = 1 << 20
	roomWords   = 1 << 16
)

func compile(all []*language) (*ruleSet, error) {
	c := &compiler{
		set:   &ruleSet{},
		items: make(map[uint64]uint32, roomWords), words: make([]wordItem, 1, roomWords),
		phrases: make([]phrase, 0, roomPhrases), row: make([]uint32, 0, roomItems),
		stems: map[string]uint32{}, classOf: map[partKey]uint32{}, unless: map[uint32]subject.Set{},
	}
	c.set.words.known = learnt().words
	c.set.age = c.item(wordItem{})
	c.set.units, c.set.cover = c.newClass(), c.newClass()
	for _, l := range all {
		c.set.files = append(c.set.files, l.name)
		c.listed = map[string][]span{}
		if err := c.language(l); err != nil {
			return nil, fmt.Errorf("rules/%s.txt: %w", l.name, err)
		}
	}
	if len(c.words) > math.MaxUint16 || c.class > math.MaxUint16 {
		return nil, fmt.Errorf("too many words (%d) or classes (%d): the maximum is 65,535", len(c.words), c.class)
	}
	c.tree()
	c.vocabulary()
	c.clip()
	return c.set, nil
}

func (c *compiler) item(of wordItem) uint32 {
	c.words = append(c.words, of)
	return uint32(len(c.words) - 1)
}

func (c *compiler) newClass() uint32 {
	c.class++
	return c.class
}

func (c *compiler) language(l *language) error {
	for _, word := range l.ageWords {
		if err := c.add(word, c.ageClass()); err != nil {
			return err
		}
	}
	for _, word := range l.ageUnits {
		if c.reader.read(word); len(c.reader.list) == 0 {
			continue // a sign, such as %: the number is an amount
		}
		if err := c.add(word, c.set.units); err != nil {
			return err
		}
	}
	for _, text := range l.ordinary {
		if err := c.add(text, c.set.cover); err != nil {
			return err
		}
	}
	for id, texts := range l.unless {
		class := c.newClass()
		c.unless[class] = subject.SetOf(id)
		for _, text := range texts {
			if err := c.add(text, class); err != nil {
				return err
			}
		}
	}
	for _, word := range l.special {
		c.special(word)
	}
	for i := range l.rules {
		if err := c.rule(l, &l.rules[i]); err != nil {
			return err
		}
	}
	return nil
}

// ageClass returns the class of numbers that may be the writer's age.
func (c *compiler) ageClass() uint32 {
	key := partKey{part: agePart}
	if c.classOf[key] == 0 {
		c.classOf[key] = c.newClass()
		c.phrase(c.age(), c.classOf[key])
	}
	return c.classOf[key]
}

// rule compiles a rule; the alternatives of a single-part rule share a class.
func (c *compiler) rule(l *language, w *writtenRule) error {
	r := rule{
		subject: w.subject, soft: w.soft, any: w.any, parts: uint8(len(w.parts)), file: uint8(len(c.set.files) - 1),
		line: w.line,
	}
	for i, part := range w.parts {
		class, err := c.partClass(l, w, part)
		if err != nil {
			return err
		}
		r.gaps[i], r.classes[i] = w.gap, class
		if part == agePart {
			r.gaps[i] = ageGap
		}
		if i == 0 && len(w.parts) > 1 && !w.any {
			continue // later parts look back at it
		}
		c.set.uses = append(c.set.uses, use{rule: uint32(len(c.set.rules)), part: uint8(i)})
		c.useClass = append(c.useClass, class)
	}
	c.set.rules = append(c.set.rules, r)
	return nil
}

// partClass returns the class of the phrases of a part; parts written alike share it.
func (c *compiler) partClass(l *language, w *writtenRule, part string) (uint32, error) {
	if part == agePart {
		return c.ageClass(), nil
	}
	mend := w.subject.Tier() == subject.Never
	key := partKey{l.name, part, mend}
	if class := c.classOf[key]; class != 0 {
		return class, nil
	}
	class := c.newClass()
	c.classOf[key] = class
	for _, alternative := range alternatives(part) {
		phrases, err := c.alternative(l, alternative)
		if err != nil {
			return 0, err
		}
		for _, items := range phrases {
			c.phrase(items, class)
			if mend {
				c.mend(items)
			}
		}
	}
	if w.subject.Of().OfPerson && len(w.parts) == 1 {
		return class, c.specialOf(l, part)
	}
	return class, nil
}

// specialOf adds the words of a part that reveal something about a person.
func (c *compiler) specialOf(l *language, part string) error {
	for _, alternative := range alternatives(part) {
		texts, err := l.texts(alternative)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if text != agePart && !strings.ContainsAny(text, " *") {
				c.special(text)
			}
		}
	}
	return nil
}

// special adds a word that reveals something about a person. A copy releases the file that it was
// read from.
func (c *compiler) special(word string) { c.set.special = append(c.set.special, strings.Clone(word)) }

// alternative returns the phrases of an alternative of a part: those of a class, or the phrase
// itself. It reads each class once.
func (c *compiler) alternative(l *language, name string) ([]span, error) {
	if name == agePart {
		return []span{c.age()}, nil
	}
	if known, ok := c.listed[name]; ok {
		return known, nil
	}
	texts, err := l.texts(name)
	if err != nil {
		return nil, err
	}
	var phrases []span
	for _, text := range texts {
		items, err := c.read(text)
		if err != nil {
			return nil, err
		}
		phrases = append(phrases, items)
	}
	c.listed[name] = phrases
	return phrases, nil
}

// age returns the phrase of a number that may be an age.
func (c *compiler) age() span {
	c.row = append(c.row, c.set.age)
	return span{uint32(len(c.row) - 1), uint32(len(c.row))}
}

// add adds a phrase to a class.
func (c *compiler) add(text string, class uint32) error {
	items, err := c.read(text)
	if err == nil {
		c.phrase(items, class)
	}
	return err
}

func (c *compiler) phrase(items span, class uint32) {
	p := phrase{0, items, class}
	for i, item := range c.of(&p) {
		if i < keyed {
			p.begins |= uint64(item) << (16 * (keyed - 1 - i))
		}
	}
	c.phrases = append(c.phrases, p)
}

// of returns the items of a phrase.
func (c *compiler) of(p *phrase) []uint32 { return c.row[p.items.from:p.items.to] }

// read appends the items of a phrase to the row.
func (c *compiler) read(text string) (span, error) {
	from := uint32(len(c.row))
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '-' }) {
		open, shut := word[0] == '*', word[len(word)-1] == '*'
		if !open && !shut {
			c.reader.read(word)
			for i := range c.reader.list {
				tok := &c.reader.list[i]
				c.row = append(c.row, c.word(c.reader.letters[tok.from:tok.to], tok.hash))
			}
			continue
		}
		c.reader.read(strings.Trim(word, "*"))
		if len(c.reader.list) != 1 || c.reader.list[0].sign {
			return span{}, fmt.Errorf("%q: a star must belong to a single word of a script with spaces", text)
		}
		letters := c.reader.letters
		if len(letters) < stemKey {
			return span{}, fmt.Errorf("%q: a stem needs at least %d letters", text, stemKey)
		}
		c.row = append(c.row, c.stem(letters, open, shut))
	}
	if from == uint32(len(c.row)) {
		return span{}, fmt.Errorf("%q contains no word", text)
	}
	return span{from, uint32(len(c.row))}, nil
}

// wordItem is a word of the rules.
type wordItem struct {
	hash    uint64
	letters string
	mend    bool // if it is misspelt
}

func (c *compiler) word(letters []rune, hash uint64) uint32 {
	item := c.items[hash]
	if item == 0 {
		item = c.item(wordItem{hash: hash, letters: string(letters)})
		c.items[hash] = item
	}
	return item
}

// mend marks the words of a phrase for mending: rules that refuse match misspelt words as well.
func (c *compiler) mend(items span) {
	for _, item := range c.row[items.from:items.to] {
		c.words[item].mend = true
	}
}

func (c *compiler) stem(letters []rune, open, shut bool) uint32 {
	key := fmt.Sprint(string(letters), open, shut)
	if c.stems[key] == 0 {
		c.stems[key] = c.item(wordItem{})
		entry := stem{slices.Clone(letters), open, shut, c.stems[key]}
		if open {
			c.set.words.tails.add(entry)
		} else {
			c.set.words.stems.add(entry)
		}
	}
	return c.stems[key]
}

// tree builds the tree of the phrases, and sorts the uses by class.
func (c *compiler) tree() {
	slices.SortFunc(c.phrases, func(a, b phrase) int {
		if a.begins != b.begins {
			return cmp.Compare(a.begins, b.begins)
		}
		return cmp.Or(slices.Compare(c.of(&a), c.of(&b)), cmp.Compare(a.class, b.class))
	})
	c.phrases = slices.CompactFunc(c.phrases, func(a, b phrase) bool {
		return a.begins == b.begins && a.class == b.class && slices.Equal(c.of(&a), c.of(&b))
	})
	s := c.set
	c.grow()
	s.root = make([]uint32, len(c.words))
	for i, item := range s.edges[:s.nodes[1].edges] {
		s.root[item] = uint32(i + 1)
	}
	c.uses()
	c.steps()
	s.unless = make([]subject.Set, c.class+1)
	s.marks = make([]uint64, c.class+1)
	for key, class := range c.classOf {
		s.marks[class] = hashOf([]rune(key.language + " " + key.part))
	}
	for class, of := range c.unless {
		s.unless[class] = of
	}
}

// steps numbers the places of middle parts after those of the classes, and sets use.before.
func (c *compiler) steps() {
	s := c.set
	s.steps = c.class + 1
	for i := range s.rules {
		s.rules[i].middle = s.steps
		s.steps += uint32(max(0, int(s.rules[i].parts)-2))
	}
	for i := range s.uses {
		u := &s.uses[i]
		r := &s.rules[u.rule]
		switch {
		case r.parts == 1:
		case u.part > 1 && !r.any:
			u.before = r.middle + uint32(u.part) - 2
		case u.part > 0:
			u.before = r.classes[0]
		default:
			u.before = r.classes[1]
		}
	}
}

// branch is a range of phrases with the same beginning, which form one node.
type branch struct{ from, to uint32 }

// grow adds the nodes level by level, so that the edges and the classes of a node end where those
// of the next begin, and the n-th edge leads to the node n + 1.
func (c *compiler) grow() {
	s := c.set
	s.nodes = make([]node, 0, roomPhrases)
	level, next := []branch{{0, uint32(len(c.phrases))}}, []branch(nil)
	for depth := 0; len(level) > 0; depth++ {
		next = next[:0]
		for _, parent := range level {
			next = c.branch(next, depth, c.phrases[:parent.to], parent.from)
		}
		level, next = next, level
	}
	s.nodes = append(s.nodes, node{uint32(len(s.edges)), uint32(len(s.classes))})
}

// branch adds the node of a range of phrases, and appends the ranges of its children to next.
func (c *compiler) branch(next []branch, depth int, phrases []phrase, from uint32) []branch {
	s, end := c.set, uint32(len(phrases))
	s.nodes = append(s.nodes, node{uint32(len(s.edges)), uint32(len(s.classes))})
	for from < end && len(c.of(&phrases[from])) == depth {
		s.classes = append(s.classes, uint16(phrases[from].class))
		from++
	}
	for from < end {
		item, to := c.of(&phrases[from])[depth], from+1
		for to < end && c.of(&phrases[to])[depth] == item {
			to++
		}
		s.edges = append(s.edges, uint16(item))
		next = append(next, branch{from, to})
		from = to
	}
	return next
}

// uses sorts the uses by class.
func (c *compiler) uses() {
	s := c.set
	order := make([]int, len(s.uses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.useClass[a], c.useClass[b]) })
	sorted, of := make([]use, 0, len(s.uses)), make([]span, c.class+1)
	for _, i := range order {
		class := &of[c.useClass[i]]
		if class.to == 0 {
			class.from = uint32(len(sorted))
		}
		sorted = append(sorted, s.uses[i])
		class.to = uint32(len(sorted))
	}
	s.uses, s.usesOf = sorted, of
}

// vocabulary builds the tables for finding words.
func (c *compiler) vocabulary() {
	v := &c.set.words
	v.exact = newHashTable(len(c.items))
	var words []string
	for item := range c.words {
		word := &c.words[item]
		if word.letters == "" {
			continue
		}
		first, _ := utf8.DecodeRuneInString(word.letters)
		value, n := uint32(item), utf8.RuneCountInString(word.letters)
		if n <= longestPart && !unspaced(first) && (n > 1 || first == 'i' || first == 'a') {
			value |= joinable
		}
		v.exact.put(word.hash, value)
		if word.mend && !unspaced(first) && n >= fewestMasked && n <= longestPart {
			words = append(words, word.letters)
		}
	}
	slices.Sort(words)
	v.mends(words)
}

// clip releases the spare capacity of slices.
func (c *compiler) clip() {
	s := c.set
	s.nodes, s.edges, s.classes = clipped(s.nodes), clipped(s.edges), clipped(s.classes)
	s.uses, s.rules, s.special = clipped(s.uses), clipped(s.rules), clipped(s.special)
	s.words.letters, s.words.begins = clipped(s.words.letters), clipped(s.words.begins)
}

func clipped[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }
