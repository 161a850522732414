package cluster

import "errors"

// ErrName is the error of a name that is empty or too long.
var ErrName = errors.New("cluster: a name must have 1 to 255 bytes")

// token returns a name as one token of a subject, which is also a key of a bucket. Letters, digits, - and _ stand for themselves, any other
// byte is written =XX. So no name has a dot or a wildcard in it, whoever chose it, and no two names have the same token.
func token(name string) (string, error) {
	if name == "" || len(name) > maxName {
		return "", ErrName
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(name)+8)
	for i := range len(name) {
		switch c := name[i]; {
		case isPlain(c):
			b = append(b, c)
		default:
			b = append(b, '=', hex[c>>4], hex[c&15])
		}
	}
	return string(b), nil
}

func isPlain(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
}

// nameOf returns the name of a token, and "" for what is none.
func nameOf(token string) string {
	b := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '=' {
			if i+2 >= len(token) {
				return ""
			}
			high, low := digit(token[i+1]), digit(token[i+2])
			if high > 15 || low > 15 {
				return ""
			}
			c = high<<4 | low
			if i += 2; isPlain(c) {
				return "" // it would have two tokens
			}
		} else if !isPlain(c) {
			return ""
		}
		b = append(b, c)
	}
	return string(b)
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
