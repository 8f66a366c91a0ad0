package suitability

// Buckets is the number of buckets that the features of a text are hashed into.
const Buckets = 1 << 17

// Outputs is the number of kinds that the learnt table detects: a person in need, and a request for
// harm.
const Outputs = 2

// The outputs.
const (
	Need = iota
	Harm
)

// features holds the buckets of a text: groups of letters within words, and sequences of words.
// ends holds the number of features up to the end of each token.
type features struct {
	list []uint32
	ends []int32
}

// The lengths of groups of letters.
const (
	leastGroup = 3
	mostGroup  = 5
	mostSigns  = 4 // of scripts without spaces, whose signs carry more meaning
)

// letterBits is the number of bits of a letter in a group: five of them fit in a number.
const letterBits = 12

const edgeOfWord = 0 // stands before and after a word in groups

func (f *features) read(t *tokens, marks []mark) {
	f.list, f.ends = f.list[:0], f.ends[:0]
	var before, second uint64 // hashes of the previous words
	var signs uint64          // the previous signs
	for i := range t.list {
		tok := &t.list[i]
		if tok.sign {
			signs = signs<<letterBits | uint64(t.letters[tok.from])&(1<<letterBits-1)
			for n := uint(1); n <= mostSigns; n++ {
				if n > 1 && signs>>(letterBits*(n-1))&(1<<letterBits-1) == 0 {
					break
				}
				f.group(signs&(1<<(letterBits*n)-1), n|8)
			}
			before, second = 0, 0
		} else {
			signs = 0
			f.word(t.letters[tok.from:tok.to])
			word := tok.hash
			if tok.number >= 0 {
				word = hashNumber
			}
			f.row(word, 1)
			if before != 0 {
				f.row(before*prime^word, 2)
				if second != 0 {
					f.row((second*prime^before)*prime^word, 3)
				}
			}
			second, before = before, word
		}
		for len(marks) > 0 && int(marks[0].token) <= i {
			f.row(marks[0].hash, 4)
			marks = marks[1:]
		}
		f.ends = append(f.ends, int32(len(f.list)))
	}
}

// hashNumber stands for all numbers.
const hashNumber = 0x9ddfea08eb382d69

// word adds the groups of letters of a word.
func (f *features) word(letters []rune) {
	group, n := uint64(edgeOfWord), uint(1)
	for i := 0; i <= len(letters); i++ {
		next := uint64(edgeOfWord)
		if i < len(letters) {
			next = uint64(letters[i]) & (1<<letterBits - 1)
		}
		group = group<<letterBits | next
		n++
		for size := uint(leastGroup); size <= min(n, mostGroup); size++ {
			f.group(group&(1<<(letterBits*size)-1), size)
		}
	}
}

func (f *features) group(group uint64, size uint) {
	f.list = append(f.list, uint32((group^uint64(size)<<60)*0x9e3779b97f4a7c15>>(64-17)))
}

func (f *features) row(hash uint64, size uint) {
	f.list = append(f.list, uint32((hash^uint64(size)*0xc2b2ae3d27d4eb4f)*0x9e3779b97f4a7c15>>(64-17)))
}

// Features returns the buckets of the features of a text, as the table is trained on them.
func Features(text string) []uint32 {
	w := works.Get().(*work)
	defer works.Put(w)
	w.find(text)
	var f features
	f.read(&w.words, w.rules.marks)
	return f.list
}
