package strictjson

import "unicode/utf16"

// AppendASCII appends a JSON document in pure ASCII, as Python's json.dumps writes it: U+007F and all characters above it become \u and
// four lowercase hex digits, those above U+FFFF a surrogate pair. Outside of strings, JSON is always ASCII.
func AppendASCII(out, document []byte) []byte {
	for _, r := range string(document) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendUnit(appendUnit(out, high), low)
		default:
			out = appendUnit(out, r)
		}
	}
	return out
}

func appendUnit(out []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
