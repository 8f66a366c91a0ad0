package lexicon

import (
	"cmp"
	"slices"

	"adnet/auction/words"
)

// The likeness of a word to the same word with other marks. Words that are written the same count
// most. The word of a request without marks counts more than one whose marks the campaign lacks:
// few people type marks, and those typed are meant.
const (
	unmarkedLikeness = 250 // of "pho" in a request to "phở"
	markedLikeness   = 220 // of "phở" to "pho", and of "pho" with some marks to one with more
	pairedLikeness   = 140 // of "schön" to "schon"
)

// arabicEighths lowers the likeness of Arabic spellings. Many are of particles, which a small network
// takes for rare words (row xsid of make relevance).
const arabicEighths = 5

// knownKin divides the weight of other spellings of a word that the table has as the request writes
// it, since a campaign with both spellings would else count the word twice.
const knownKin = 2

// kin finds the terms that are a word with other marks.
type kin struct {
	first uint32            // the id of the first term
	end   uint32            // after the last
	forms []form            // ascending
	of    map[uint32][]like // by term of the table: its kin, the most similar first
	has   idSet             // the terms of of
}

// form is the hash of a plainer form of a term with marks.
type form struct{ hash, id uint32 }

// kinOf lays out the kin among the terms with ids from first to before end.
func kinOf(n *names, first, end uint32) kin {
	k := kin{first: first, end: end, of: map[uint32][]like{}, has: newIDSet(int(end))}
	for id := first; id < end; id++ {
		if term := n.of(id); !letterGroup(term) {
			bare, paired := words.Plainer(term)
			k.add(bare, id)
			k.add(paired, id)
		}
	}
	slices.SortFunc(k.forms, func(a, b form) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id)) })
	k.forms = slices.Clip(k.forms)
	for id := range k.marked(n) {
		if list := k.find(n, n.of(id)); len(list) > 0 {
			k.of[id] = slices.Clone(list)
			k.has.add(id)
		}
	}
	return k
}

// may reports whether a word missing in the table may have kin.
func (k *kin) may(word string) bool {
	return len(k.forms) > 0 && word != "" && word[0] != words.WeakMark[0] && !letterGroup(word)
}

func (k *kin) add(text string, id uint32) {
	if text != "" {
		k.forms = append(k.forms, form{words.Hash(text), id})
	}
}

// marked returns the terms that may have kin: those with marks, and their plainer forms.
func (k *kin) marked(n *names) map[uint32]bool {
	ids := map[uint32]bool{}
	for _, f := range k.forms {
		ids[f.id] = true
		bare, paired := words.Plainer(n.of(f.id))
		for _, text := range []string{bare, paired} {
			if id := k.id(n, text); id != None {
				ids[id] = true
			}
		}
	}
	return ids
}

// id returns the id of a term if it is one of those laid out, or [None].
func (k *kin) id(n *names, term string) uint32 {
	if term != "" {
		if id := n.id(term); id >= k.first && id < k.end {
			return id
		}
	}
	return None
}

// find returns the terms that are the word with other marks, the most similar first.
func (k *kin) find(n *names, word string) (list []like) {
	list = k.appendForms(n, word, word, unmarkedLikeness, list)
	bare, paired := words.Plainer(word)
	if bare != "" {
		if id := k.id(n, bare); id != None {
			switch words.MarkingOf(word) {
			case words.Optional:
				list = append(list, like{id, markedLikeness, true})
			case words.Paired:
				list = append(list, like{id, pairedLikeness, true})
			case words.Distinct:
			}
		}
		list = k.appendForms(n, word, bare, markedLikeness, list)
	}
	if paired != "" {
		if id := k.id(n, paired); id != None {
			list = append(list, like{id, unmarkedLikeness, true})
		}
	}
	slices.SortFunc(list, func(a, b like) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(b.likeness, a.likeness))
	})
	list = slices.CompactFunc(list, func(a, b like) bool { return a.id == b.id })
	if words.Arabic(word) {
		for i := range list {
			list[i].likeness = list[i].likeness * arabicEighths / 8
		}
	}
	slices.SortFunc(list, byLikeness)
	return list[:min(len(list), mostAlike)]
}

// appendForms appends the terms that have a plainer form and may be the word.
func (k *kin) appendForms(n *names, word, plainer string, likeness uint32, list []like) []like {
	hash := words.Hash(plainer)
	at, _ := slices.BinarySearchFunc(k.forms, hash, func(f form, hash uint32) int { return cmp.Compare(f.hash, hash) })
	for ; at < len(k.forms) && k.forms[at].hash == hash; at++ {
		term := n.of(k.forms[at].id)
		bare, paired := words.Plainer(term)
		if term != word && (plainer == paired || plainer == bare && (plainer == word || words.SameMarks(word, term))) {
			list = append(list, like{k.forms[at].id, likeness, true})
		}
	}
	return list
}
