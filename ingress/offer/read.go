package offer

import (
	"adnet/internal/jsonscan"
	"adnet/internal/share"
)

// ReadMessages reads the messages of a plain body and declines any other.
func ReadMessages(in *jsonscan.Reader) (list []Message) {
	in.Each(func() {
		var m Message
		o := in.Object()
		for name, more := o.Next(); more; name, more = o.Next() {
			switch name {
			case "role":
				m.Role = in.Text()
			case "content":
				m.Content = in.Text()
			default:
				in.Decline() // may be a known name in another case
			}
		}
		list = append(list, m)
	})
	return list
}

// ReadShare reads a number from 0 to 1.
func ReadShare(in *jsonscan.Reader) *share.Share {
	read := jsonscan.Parsed(in, in.Number(), share.Parse)
	return &read
}
