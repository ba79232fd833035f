package strictjson

import "bytes"

const (
	notJSON  = "not valid JSON"
	tooEarly = "the JSON value ends too early"
)

// cause names the error at an offset, if it is a frequent one. It never quotes the document.
func cause(data []byte, offset int) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}), len(data) > 1 && (data[0] == 0 || data[1] == 0):
		return notJSON + ": this is UTF-16: JSON is UTF-8"
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return notJSON + ": it begins with a byte order mark: JSON is UTF-8 without one"
	}
	offset = min(offset, len(data))
	before := bytes.TrimRight(data[:offset], " \t\r\n")
	rest := bytes.TrimLeft(data[offset:], " \t\r\n")
	if len(rest) == 0 {
		return notJSON
	}
	closes := func(b []byte) bool { return len(b) > 0 && (b[0] == '}' || b[0] == ']') }
	switch {
	case rest[0] == ',' && closes(bytes.TrimLeft(rest[1:], " \t\r\n")), bytes.HasSuffix(before, []byte(",")) && closes(rest):
		return notJSON + ": a comma behind the last entry: leave it out"
	case rest[0] == '\'':
		return notJSON + ": single quotes: JSON has double quotes only"
	case rest[0] == '/' || rest[0] == '#':
		return notJSON + ": a comment: JSON has none"
	case rest[0] == '"' || rest[0] == '{' || rest[0] == '[':
		return notJSON + ": a comma or a colon is missing before this"
	case rest[0] == '_' || rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 'A' && rest[0] <= 'Z':
		return notJSON + ": text without double quotes"
	}
	return notJSON
}

// Place returns the 1-based line and column of a problem at pointer: if the document is not acceptable JSON from there on, the position
// itself; otherwise that of Position.
func Place(data []byte, pointer string) (line, column int) {
	if _, err := Decode(data); err != nil {
		if at, ok := err.(*Error); ok && at.Pointer == pointer { //nolint:errorlint // as Decode promises
			return at.Line, at.Column
		}
	}
	return Position(data, pointer)
}
