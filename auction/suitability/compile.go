package suitability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"adnet/internal/subject"
)

// ruleSet is the rules of all languages, ready to be matched. It is immutable.
//
// Phrases are a tree of items (words, stems, signs); a node where phrases end names the classes that
// they are of. A rule is a row of classes.
type ruleSet struct {
	words   vocabulary
	nodes   []node
	edges   []uint16 // items; the node behind each edge is numbered as the edge, plus one
	root    []uint32 // by item, the child of the root; 0 for none
	classes []uint16 // of the ends of phrases, after one another
	uses    []use    // of classes in rules, after one another
	usesOf  []span   // by class
	rules   []rule
	files   []string      // by rule.file
	unless  []subject.Set // by class
	marks   []uint64      // by class, what stands for it among the features of a text
	middles uint32
	special []string // words that tell about a person, and are too weak to decide
	age     uint32   // item of a number that may be an age
	units   uint32   // class of what is counted
	cover   uint32   // class of phrases that are ordinary
}

type (
	// node has where its edges and its classes begin; they end where those of the next begin.
	node struct{ edges, classes uint32 }
	span struct{ from, to uint32 }
	use  struct {
		rule uint32
		part uint8
	}
	rule struct {
		subject subject.ID
		soft    bool
		any     bool
		parts   uint8
		gaps    [mostParts]int32 // before each part
		classes [mostParts]uint32
		middle  uint32 // place of the parts between the first and the last
		file    uint8
		line    int32
	}
)

// rules are compiled once, when a text is read for the first time.
var rules = sync.OnceValue(func() *ruleSet {
	all, err := languages()
	if err != nil {
		panic(err) // the files are of the build, and a test reads them
	}
	compiled, err := compile(all)
	if err != nil {
		panic(err)
	}
	return compiled
})

// compiler collects phrases before they become a tree.
type compiler struct {
	set      *ruleSet
	items    map[uint64]wordItem // by hash
	stems    map[string]uint32
	next     uint32
	phrases  []phrase
	classOf  map[partKey]uint32
	row      []uint32 // the items of all phrases
	useClass []uint32 // by use
	reader   tokens
	class    uint32
	unless   map[uint32]subject.Set
}

type phrase struct {
	items span // of the row
	class uint32
}

// partKey is a part as it is written; the words of some are mended.
type partKey struct {
	language, part string
	mend           bool
}

// of are the items of a phrase.
func (c *compiler) of(p *phrase) []uint32 { return c.row[p.items.from:p.items.to] }

func compile(all []*language) (*ruleSet, error) {
	c := &compiler{
		set:   &ruleSet{},
		items: map[uint64]wordItem{}, stems: map[string]uint32{}, classOf: map[partKey]uint32{},
		unless: map[uint32]subject.Set{},
	}
	c.set.words.known = learnt().words
	c.set.age = c.item()
	c.set.units, c.set.cover = c.newClass(), c.newClass()
	for _, l := range all {
		c.set.files = append(c.set.files, l.name)
		if err := c.language(l); err != nil {
			return nil, fmt.Errorf("rules/%s.txt: %w", l.name, err)
		}
	}
	if c.next > math.MaxUint16 || c.class > math.MaxUint16 {
		return nil, fmt.Errorf("%d words and %d classes are more than 65,535", c.next, c.class)
	}
	c.tree()
	c.vocabulary()
	c.clip()
	return c.set, nil
}

func (c *compiler) item() uint32 {
	c.next++
	return c.next
}

func (c *compiler) newClass() uint32 {
	c.class++
	return c.class
}

func (c *compiler) language(l *language) error {
	for _, word := range l.ageWords {
		if err := c.add(word, c.ageClass(), false); err != nil {
			return err
		}
	}
	for _, word := range l.ageUnits {
		if c.reader.read(word); len(c.reader.list) == 0 {
			continue // a sign, such as %: the number is an amount
		}
		if err := c.add(word, c.set.units, false); err != nil {
			return err
		}
	}
	for _, text := range l.ordinary {
		if err := c.add(text, c.set.cover, false); err != nil {
			return err
		}
	}
	for id, texts := range l.unless {
		class := c.newClass()
		c.unless[class] = subject.SetOf(id)
		for _, text := range texts {
			if err := c.add(text, class, false); err != nil {
				return err
			}
		}
	}
	c.set.special = append(c.set.special, l.special...)
	for i := range l.rules {
		if err := c.rule(l, &l.rules[i]); err != nil {
			return err
		}
	}
	return nil
}

// ageClass is the class of what may be an age of the writer.
func (c *compiler) ageClass() uint32 {
	key := partKey{part: agePart}
	if c.classOf[key] == 0 {
		c.classOf[key] = c.newClass()
		c.addItems([]uint32{c.set.age}, c.classOf[key])
	}
	return c.classOf[key]
}

// rule compiles a rule; the alternatives of one that has a single part share a class.
func (c *compiler) rule(l *language, w *writtenRule) error {
	r := rule{subject: w.subject, soft: w.soft, any: w.any, parts: uint8(len(w.parts)), file: uint8(len(c.set.files) - 1), line: w.line}
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
			continue // it is only looked back at
		}
		c.set.uses = append(c.set.uses, use{uint32(len(c.set.rules)), uint8(i)})
		c.useClass = append(c.useClass, class)
	}
	c.set.rules = append(c.set.rules, r)
	return nil
}

// partClass is the class of the phrases of a part; parts that are written alike share it.
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
	phrases, err := l.phrases(part)
	if err != nil {
		return 0, err
	}
	for _, text := range phrases {
		if text == agePart {
			c.addItems([]uint32{c.set.age}, class)
			continue
		}
		if w.subject.Of().OfPerson && len(w.parts) == 1 && !strings.ContainsAny(text, " *") {
			c.set.special = append(c.set.special, text)
		}
		if err := c.add(text, class, mend); err != nil {
			return 0, err
		}
	}
	return class, nil
}

func (c *compiler) addItems(items []uint32, class uint32) {
	from := uint32(len(c.row))
	c.row = append(c.row, items...)
	c.phrases = append(c.phrases, phrase{span{from, uint32(len(c.row))}, class})
}

// add adds a phrase to a class. Words of rules that refuse are mended where they are misspelt.
func (c *compiler) add(text string, class uint32, mend bool) error {
	from := uint32(len(c.row))
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '-' }) {
		open, shut := word[0] == '*', word[len(word)-1] == '*'
		if !open && !shut {
			c.reader.read(word)
			for i := range c.reader.list {
				c.row = append(c.row, c.word(c.reader.letters[c.reader.list[i].from:c.reader.list[i].to], mend))
			}
			continue
		}
		c.reader.read(strings.Trim(word, "*"))
		if len(c.reader.list) != 1 || c.reader.list[0].sign {
			return fmt.Errorf("%q: a star stands at a single word of a script with spaces", text)
		}
		letters := c.reader.letters
		if len(letters) < stemKey {
			return fmt.Errorf("%q: a stem has %d letters at least", text, stemKey)
		}
		c.row = append(c.row, c.stem(letters, open, shut))
	}
	if from == uint32(len(c.row)) {
		return fmt.Errorf("%q has no word", text)
	}
	c.phrases = append(c.phrases, phrase{span{from, uint32(len(c.row))}, class})
	return nil
}

func (c *compiler) word(letters []rune, mend bool) uint32 {
	hash := hashOf(letters)
	known := c.items[hash]
	if known.item == 0 {
		known = wordItem{item: c.item(), letters: string(letters)}
		c.items[hash] = known
	}
	if mend && !known.mend && !unspaced(letters[0]) {
		known.mend = true
		c.items[hash] = known
	}
	return known.item
}

// wordItem is a word of the rules.
type wordItem struct {
	item    uint32
	letters string
	mend    bool // where it is misspelt
}

func (c *compiler) stem(letters []rune, open, shut bool) uint32 {
	key := fmt.Sprint(string(letters), open, shut)
	if c.stems[key] == 0 {
		c.stems[key] = c.item()
		one := stem{slices.Clone(letters), open, shut, c.stems[key]}
		if open {
			c.set.words.tails.add(one)
		} else {
			c.set.words.stems.add(one)
		}
	}
	return c.stems[key]
}

// tree makes the tree of the phrases, and the uses of each class in order.
func (c *compiler) tree() {
	slices.SortFunc(c.phrases, func(a, b phrase) int {
		return cmp.Or(slices.Compare(c.of(&a), c.of(&b)), cmp.Compare(a.class, b.class))
	})
	c.phrases = slices.CompactFunc(c.phrases, func(a, b phrase) bool {
		return a.class == b.class && slices.Equal(c.of(&a), c.of(&b))
	})
	s := c.set
	c.grow()
	s.root = make([]uint32, c.next+1)
	for i, item := range s.edges[:s.nodes[1].edges] {
		s.root[item] = uint32(i + 1)
	}
	c.uses()
	for i := range s.rules {
		s.rules[i].middle = s.middles
		s.middles += uint32(max(0, int(s.rules[i].parts)-2))
	}
	s.unless = make([]subject.Set, c.class+1)
	s.marks = make([]uint64, c.class+1)
	for key, class := range c.classOf {
		s.marks[class] = hashOf([]rune(key.language + " " + key.part))
	}
	for class, of := range c.unless {
		s.unless[class] = of
	}
}

// branch is the phrases that begin alike, which belong to one node.
type branch struct {
	depth   int
	phrases []phrase
}

// grow makes the nodes level by level, so that the edges and the classes of a node end where those
// of the next begin, and the n-th edge leads to the node n + 1.
func (c *compiler) grow() {
	s := c.set
	pending := []branch{{0, c.phrases}}
	for i := 0; i < len(pending); i++ {
		depth, rest := pending[i].depth, pending[i].phrases
		s.nodes = append(s.nodes, node{uint32(len(s.edges)), uint32(len(s.classes))})
		for len(rest) > 0 && len(c.of(&rest[0])) == depth {
			s.classes = append(s.classes, uint16(rest[0].class))
			rest = rest[1:]
		}
		for len(rest) > 0 {
			item, end := c.of(&rest[0])[depth], 1
			for end < len(rest) && c.of(&rest[end])[depth] == item {
				end++
			}
			s.edges = append(s.edges, uint16(item))
			pending = append(pending, branch{depth + 1, rest[:end]})
			rest = rest[end:]
		}
	}
	s.nodes = append(s.nodes, node{uint32(len(s.edges)), uint32(len(s.classes))})
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

// vocabulary makes what words are found by.
func (c *compiler) vocabulary() {
	v := &c.set.words
	v.exact = newTable64(len(c.items))
	var words []string
	for hash, word := range c.items {
		item, n, first := word.item, utf8.RuneCountInString(word.letters), []rune(word.letters)[0]
		if n <= longestPart && !unspaced(first) && (n > 1 || first == 'i' || first == 'a') {
			item |= joinable
		}
		v.exact.put(hash, item)
		if word.mend && n >= fewestMasked && n <= longestPart {
			words = append(words, word.letters)
		}
	}
	slices.Sort(words)
	v.mends(words)
}

// clip lets go of the memory that slices grew into.
func (c *compiler) clip() {
	s := c.set
	s.nodes, s.edges, s.classes = clipped(s.nodes), clipped(s.edges), clipped(s.classes)
	s.uses, s.rules, s.special = clipped(s.uses), clipped(s.rules), clipped(s.special)
	s.words.letters, s.words.begins = clipped(s.words.letters), clipped(s.words.begins)
}

func clipped[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }
