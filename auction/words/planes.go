package words

import "unicode"

// Unicode's tables are searched rune by rune, which takes most of the time of reading a text that
// is not ASCII. For runes up to 0xFFFF two facts come from a lookup (benchmark row
// ad_request_100k): for each rune whether it is a mark and whether it is part of a word, and for
// each 256 in a row whether any is ignorable or has a lower case.
type (
	plane [1 << 16 / 64]uint64
	rows  [1 << 16 >> rowBits]bool
)

const rowBits = 8

var (
	markRunes     = planeOf(unicode.M)
	wordRunes     = planeOf(unicode.L, unicode.Nd, unicode.M)
	ignorableRows = rowsOf(unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	casedRows     = rowsOf(cased())
)

func planeOf(tables ...*unicode.RangeTable) *plane {
	p := new(plane)
	eachOfPlane(tables, func(r rune) { p[r/64] |= 1 << (r % 64) })
	return p
}

func rowsOf(tables ...*unicode.RangeTable) *rows {
	of := new(rows)
	eachOfPlane(tables, func(r rune) { of[r>>rowBits] = true })
	return of
}

func eachOfPlane(tables []*unicode.RangeTable, yield func(r rune)) {
	for _, table := range tables {
		for _, list := range table.R16 {
			for r := rune(list.Lo); r <= rune(list.Hi); r += rune(list.Stride) {
				yield(r)
			}
		}
	}
}

// cased returns the runes that have another case.
func cased() *unicode.RangeTable {
	table := &unicode.RangeTable{}
	for _, list := range unicode.CaseRanges {
		if list.Lo < 1<<16 {
			table.R16 = append(
				table.R16, unicode.Range16{Lo: uint16(list.Lo), Hi: uint16(min(list.Hi, 1<<16-1)), Stride: 1},
			)
		}
	}
	return table
}

func (p *plane) has(r rune) bool { return p[r/64]>>(r%64)&1 != 0 }

// lowerRune equals unicode.ToLower.
func lowerRune(r rune) rune {
	if r < 1<<16 && !casedRows[r>>rowBits] {
		return r
	}
	return unicode.ToLower(r)
}
