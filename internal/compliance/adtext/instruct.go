package adtext

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule matches a text with a word of each part near a word of the first, in any order. The words
// are folded and have no spaces. A stem matches all its forms.
type rule [][]string

// near is the maximum distance between two parts of a rule, in letters.
const near = 60

// instructions holds the rules of all languages, and the English ones in the 25 ciphers that shift
// each letter by the same number and in the one that reverses the alphabet. Most texts fail the
// first parts of all rules.
var instructions = sync.OnceValue(func() (all struct{ plain, moved []rule }) {
	for _, list := range lists {
		all.plain = append(all.plain, list...)
	}
	for by := 1; by < 26; by++ {
		for _, r := range lists["en"] {
			all.moved = append(all.moved, folded(r, func(word string) string { return move(word, by) }))
		}
	}
	for _, r := range lists["en"] {
		all.moved = append(all.moved, folded(r, mirror))
	}
	for i, r := range all.plain {
		all.plain[i] = folded(r, func(word string) string { return word })
	}
	return all
})

func folded(r rule, first func(string) string) rule {
	out := make(rule, len(r))
	for i, part := range r {
		for _, word := range part {
			out[i] = append(out[i], compact(first(word)))
		}
	}
	return out
}

func move(word string, by int) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+rune(by))%26
		}
		return r
	}, word)
}

func mirror(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'z' - (r - 'a')
		}
		return r
	}, word)
}

// Instructing finds texts in one of [Languages] that address a model instead of people, within the
// limits of word lists: also reversed, with letters shifted along the alphabet, misspelt or
// encoded. alone has the indexes of texts that do so by themselves. together is true if none does,
// but two of them read in sequence, or all in their order, do.
func Instructing(texts ...string) (alone []int, together bool) {
	if alone, together = instructing(texts); len(alone) > 0 || together {
		return alone, together
	}
	meant, slipped := make([]string, len(texts)), false
	for i, text := range texts {
		var changed bool
		meant[i], changed = mended(text)
		slipped = slipped || changed
	}
	if !slipped {
		return nil, false
	}
	return instructing(meant)
}

func instructing(texts []string) (alone []int, together bool) {
	read := make([]string, len(texts))
	for i, text := range texts {
		read[i] = compact(text)
	}
	// Most ads end here: no rule has all of its parts anywhere in the text.
	whole, back := strings.Join(read, ""), compact(reversed(strings.Join(texts, " ")))
	forward := append(possible(whole, instructions().plain), possible(whole, instructions().moved)...)
	backward := possible(back, instructions().plain)
	for i, text := range texts {
		if addressed.MatchString(Plain(text)) || spoken(read[i], forward) ||
			len(backward) > 0 && spoken(compact(reversed(text)), backward) ||
			slices.ContainsFunc(encoded(text), instructs) {
			alone = append(alone, i)
		}
	}
	return alone, len(alone) == 0 && (spoken(whole, forward) || spoken(back, backward) || inPairs(read, forward))
}

func instructs(text string) bool {
	alone, _ := Instructing(text)
	return len(alone) > 0
}

func inPairs(read []string, rules []rule) bool {
	for i, a := range read {
		for _, b := range read[i+1:] {
			if spoken(a+b, rules) || spoken(b+a, rules) {
				return true
			}
		}
	}
	return false
}

// possible returns the rules whose parts all occur in text, at any distance.
func possible(text string, rules []rule) (found []rule) {
	for _, r := range rules {
		missing := slices.ContainsFunc(r, func(part []string) bool {
			return !slices.ContainsFunc(part, func(word string) bool { return strings.Contains(text, word) })
		})
		if !missing {
			found = append(found, r)
		}
	}
	return found
}

func reversed(s string) string {
	runes := []rune(bare(s))
	slices.Reverse(runes)
	return string(runes)
}

// addressed finds texts written as a turn of a conversation with a model, and control words of
// models.
var addressed = regexp.MustCompile(`(?im)(^|[.!?;|>)\]}*#"'—–-]\s*)(dear |hey |attention,? |note to (the |any )?)?` +
	`(assistants?|a\.?i\.?|system|chatbots?|chat ?gpt|gpt[-\w.]*|claude|gemini|copilot|llms?|language models?|ai (assistants?|agents?|models?)|agents?|model|bot|user|human|developer` +
	`|assistent|assistente|asistente|ki|ia|sistema|systeem|система|ассистент|помощник|ии|助手|系统|系統|模型|アシスタント|システム|어시스턴트|시스템)\s*:` +
	`|(^|[.!?;]\s*)(dear |hey |hi |hello |ok |attention,? )?(assistants?|chat ?gpt|claude|gemini|copilot|llms?|language models?|ai (assistants?|agents?|models?))\s?[,!—–-]\s*` +
	`(please|you must|only|always|never|do not|don't|say|tell|recommend|suggest|mention|answer|reply|respond|forget|ignore|remember to|make sure|buy|call|pick|choose|prefer|praise)\b` +
	`|<\|?/?(system|assistant|im_start|im_end)\b|\[/?INST\]|\byou are now (a|an|the|dan|called|acting|no longer)\b`)

func spoken(text string, rules []rule) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.in(text) })
}

func (r rule) in(text string) bool {
	for _, word := range r[0] {
		for at := 0; ; {
			found := strings.Index(text[at:], word)
			if found < 0 {
				break
			}
			if r.around(text, at+found, at+found+len(word)) {
				return true
			}
			at += found + len(word)
		}
	}
	return false
}

// around reports whether the other parts of r are near text[from:to].
func (r rule) around(text string, from, to int) bool {
	before, after := tail(text[:from], near), head(text[to:], near)
	for _, part := range r[1:] {
		if !slices.ContainsFunc(
			part, func(word string) bool { return strings.Contains(before, word) || strings.Contains(after, word) },
		) {
			return false
		}
	}
	return true
}

func head(s string, runes int) string {
	at := 0
	for range runes {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at]
}

func tail(s string, runes int) string {
	at := len(s)
	for range runes {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}
