// Package eight looks at eight bytes of a text at a time, as one number with the first byte lowest.
// It is for loops that every byte of a request or of markup comes by.
//
// The tests of bytes answer with a number in which the top bit of a byte says yes. A subtraction
// borrows from the next byte, so above a byte that says yes another may say yes wrongly: whether
// any byte says yes, and which is the lowest, is exact.
package eight

// The patterns.
const (
	Ones = 0x0101010101010101 // one in each byte
	Tops = 0x80 * Ones        // the top bit of each byte
)

// Of returns the first eight bytes of s, which has that many.
func Of[Text string | []byte](s Text) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Is says which bytes of v are c, an ASCII character.
func Is(v uint64, c byte) uint64 {
	d := v ^ Ones*uint64(c)
	return (d - Ones) &^ d & Tops
}

// Control says which bytes of v are below the blank. Bytes that are not ASCII say no.
func Control(v uint64) uint64 { return (v - Ones*' ') &^ v & Tops }

// Wide says which bytes of v are not ASCII.
func Wide(v uint64) uint64 { return v & Tops }
