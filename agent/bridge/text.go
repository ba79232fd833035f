package bridge

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Limits of text from services and hosts, in characters.
const (
	maxTitle       = 100
	maxDescription = 2000
	maxSentence    = 4000
	maxWords       = 8000 // maximum length of the text about a policy, in characters
	maxNote        = 500
)

func oneLine(s string, maxChars int) string      { return lines.Clean(s, maxChars) }
func severalLines(s string, maxChars int) string { return lines.CleanText(s, maxChars) }

// Members of a schema, by the kind of their values.
var (
	schemaMaps = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true}
	data       = map[string]bool{"enum": true, "const": true, "default": true, "examples": true, "example": true}
	remarks    = map[string]bool{"title": true, "description": true, "$comment": true}
)

// maxData is the maximum total length of the strings in a schema member that must be shown unchanged, in bytes. Longer members are omitted.
const maxData = 32 << 10

// steers reports whether a character controls a terminal, changes the direction of writing, is invisible, or is U+FFFD. The zero-width
// joiner and non-joiner are exempt, because some scripts and emoji need them.
func steers(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r == utf8.RuneError || unicode.Is(unicode.C, r) && r != nonJoiner && r != joiner
}

// visible replaces the characters of a JSON document for which steers is true, except white space and U+FFFD, with their escapes. The
// decoded value stays the same.
func visible(document []byte) []byte {
	hidden := func(r rune) bool { return steers(r) && r > ' ' && r != utf8.RuneError }
	if !bytes.ContainsFunc(document, hidden) {
		return document
	}
	out := make([]byte, 0, len(document)+64)
	for _, r := range string(document) {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			out = utf8.AppendRune(out, r)
		case high == utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}

// exact reports whether data can be shown unchanged: the data must have at most *left bytes, and steers must be false for every character
// except line breaks and tabs. It subtracts the size of the data from *left.
func exact(v any, left *int) bool {
	*left--
	switch v := v.(type) {
	case string:
		*left -= len(v)
		return *left >= 0 && !strings.ContainsFunc(v, func(r rune) bool { return steers(r) && r != '\n' && r != '\t' })
	case strictjson.Object:
		return exact(map[string]any(v), left)
	case map[string]any:
		for name, member := range v {
			if !exact(name, left) || !exact(member, left) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !exact(item, left) {
				return false
			}
		}
	}
	return *left >= 0
}

// shownExactly reports whether data can be shown unchanged within maxData bytes.
func shownExactly(v any) bool {
	left := maxData
	return exact(v, &left)
}

// schema copies a JSON Schema. It shortens descriptive texts and omits everything that cannot be shown unchanged, so the copy may accept
// more than the original; the service validates the arguments itself. It also omits members whose names begin with x-, because x-mcp-header
// would make clients copy an argument into a header. See MCP 2026-07-28, basic/transports/streamable-http.
func schema(v any) any {
	switch v := v.(type) {
	case strictjson.Object:
		return schema(map[string]any(v))
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			text, isText := member.(string)
			under, isMap := member.(map[string]any)
			switch {
			case strings.HasPrefix(name, "x-"):
			case remarks[name] && isText:
				out[name] = oneLine(text, maxNote)
			case (data[name] || isText) && !shownExactly(member):
			case data[name]:
				out[name] = member
			case schemaMaps[name] && isMap:
				named := make(map[string]any, len(under))
				for key, inner := range under {
					if shownExactly(key) {
						named[key] = schema(inner)
					}
				}
				out[name] = named
			default:
				out[name] = schema(member)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if _, isText := item.(string); !isText || shownExactly(item) {
				out = append(out, schema(item))
			}
		}
		return out
	}
	return v
}

// maxDetails limits the number of values in the details of a refusal.
const maxDetails = 2000

// details copies the details of a service's error, and shortens their texts. It copies at most *left values.
func details(v any, left *int) any {
	if *left--; *left < 0 {
		return nil
	}
	switch v := v.(type) {
	case string:
		return severalLines(v, maxNote)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if *left > 0 {
				out[oneLine(name, maxTitle)] = details(member, left)
			}
		}
		return out
	case []any:
		out := make([]any, 0, min(len(v), maxDetails))
		for _, item := range v {
			if *left > 0 {
				out = append(out, details(item, left))
			}
		}
		return out
	}
	return v
}
