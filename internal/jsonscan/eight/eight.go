// Package eight examines eight bytes of a text at a time, as one number with the first byte lowest.
// It is for loops that run over every byte of a request or of markup.
//
// Each test returns a number in which the top bit marks a matching byte. A subtraction borrows from
// the next byte, so a byte above a match may be marked wrongly. Whether there is a match, and the
// position of the lowest one, are exact.
package eight

// The patterns.
const (
	Ones = 0x0101010101010101 // a one in each byte
	Tops = 0x80 * Ones        // the top bit of each byte
)

// Of returns the first eight bytes of s, which must have at least eight.
func Of[Text string | []byte](s Text) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Is marks the bytes of v that equal c, an ASCII character.
func Is(v uint64, c byte) uint64 {
	d := v ^ Ones*uint64(c)
	return (d - Ones) &^ d & Tops
}

// Control marks the bytes of v below the blank. Bytes that are not ASCII are not marked.
func Control(v uint64) uint64 { return (v - Ones*' ') &^ v & Tops }

// Wide marks the bytes of v that are not ASCII.
func Wide(v uint64) uint64 { return v & Tops }
