package strictjson

import "bytes"

const (
	notJSON  = "not valid JSON"
	tooEarly = "the JSON value ends too early"
)

// cause describes the error at an offset, if it is a common one. It never quotes the document.
func cause(data []byte, offset int) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}), len(data) > 1 && (data[0] == 0 || data[1] == 0):
		return notJSON + ": the document is UTF-16: encode it as UTF-8"
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return notJSON + ": the document begins with a byte order mark: remove it"
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
		return notJSON + ": there is a comma after the last entry: remove it"
	case rest[0] == '\'':
		return notJSON + ": there are single quotes: use double quotes"
	case rest[0] == '/' || rest[0] == '#':
		return notJSON + ": there is a comment, which JSON does not allow: remove it"
	case rest[0] == '"' || rest[0] == '{' || rest[0] == '[':
		return notJSON + ": a comma or a colon is missing before this position"
	case rest[0] == '_' || rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 'A' && rest[0] <= 'Z':
		return notJSON + ": there is text without double quotes"
	}
	return notJSON
}

// Place returns the 1-based line and column of a problem at pointer: the position of the syntax error if pointer is where the document
// stops being acceptable JSON, and otherwise the result of Position.
func Place(data []byte, pointer string) (line, column int) {
	if _, err := Decode(data); err != nil {
		if at, ok := err.(*Error); ok && at.Pointer == pointer { //nolint:errorlint // Decode returns only *Error
			return at.Line, at.Column
		}
	}
	return Position(data, pointer)
}
