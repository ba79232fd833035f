package upstream

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxMessage = 300 // maximum length of a message for the agent, in characters
	// maxRawMessage is the maximum length, in bytes, of the text that is cleaned. Longer text is cut first.
	maxRawMessage = 8 << 10
)

var (
	// messageNames are the members of an error that may contain its message. The first of them that is a string and not blank applies.
	messageNames = []string{"message", "detail", "title", "error", "error_message", "error_description"}
	// listNames are the members that may contain several errors.
	listNames = []string{"errors", "detail", "details"}
	// itemNames are the members of one error in a list that may contain the message of that error. placeNames are the members that may contain
	// its subject, such as the name of a field.
	itemNames  = []string{"message", "detail", "msg", "title"}
	placeNames = []string{"loc", "field", "source", "path"}
)

// message returns the cleaned message of the service in an error response, or "" if there is no message that agents may read.
func (u *Upstream) message(ctx context.Context, route *Route, raw []byte, pointer string) string {
	if membudget.Of(ctx).Wait(ctx, strictjson.Cost(raw)) != nil {
		return ""
	}
	body, err := strictjson.Decode(withoutNUL(raw))
	if err != nil {
		return ""
	}
	text := ""
	if pointer != "" {
		if there, ok := strictjson.Lookup(body, pointer); ok {
			text = saidBy(there)
		}
	}
	if text == "" {
		text = usualText(body)
	}
	cleaned := clean(text[:min(len(text), maxRawMessage)])
	if route.holdsSecret(text) || route.holdsSecret(cleaned) {
		route.concealed.Add(1)
		return ""
	}
	return cleaned
}

// withoutNUL removes NUL bytes and replaces the escape of U+0000 with that of U+0001, because strictjson rejects U+0000. clean removes
// control characters.
func withoutNUL(raw []byte) []byte {
	const escaped = `\u0000`
	if bytes.IndexByte(raw, 0) < 0 && !bytes.Contains(raw, []byte(escaped)) {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte{0}, nil)
	for at := 0; ; at += len(escaped) {
		next := bytes.Index(raw[at:], []byte(escaped))
		if next < 0 {
			return raw
		}
		at += next
		if before := raw[:at]; (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 { // otherwise the backslash is itself escaped
			raw[at+len(escaped)-1] = '1'
		}
	}
}

// usualText returns the message in an error document: a problem document (RFC 9457), or a document in the format of JSON:API, GraphQL,
// FastAPI, Rails or others. It returns "" if it finds no message.
func usualText(body any) string {
	if list, ok := body.([]any); ok {
		return saidBy(list)
	}
	m, ok := strictjson.AsObject(body)
	if !ok {
		return ""
	}
	if text := firstText(m, messageNames); text != "" {
		return text
	}
	for _, holder := range []strictjson.Object{m, m.Object("error")} {
		if text := firstText(holder, messageNames); text != "" {
			return text
		}
		for _, name := range listNames {
			if text := saidBy(holder[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// saidBy returns the message in a value. For a string, this is the string itself; for a list, the message of its first element; for an
// error object, its message, preceded by its subject; for an object that maps fields to errors, the message of its first member.
func saidBy(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) == 0 {
			return ""
		}
		return saidBy(v[0])
	case map[string]any:
		if text := firstText(v, itemNames); text != "" {
			return about(place(v), text)
		}
		for _, field := range strictjson.Object(v).Names() {
			if text := firstOf(v[field]); text != "" {
				return about(field, text)
			}
		}
	}
	return ""
}

// firstOf returns v if it is a string, or the message in v if it is an error object. If v is a list, firstOf uses its first element
// instead.
func firstOf(v any) string {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		return firstText(v, itemNames)
	default:
		return ""
	}
}

func firstText(m strictjson.Object, names []string) string {
	for _, name := range names {
		if s, ok := m[name].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

func about(place, text string) string {
	if place == "" || place == "base" { // in Rails, base is the whole object
		return text
	}
	return place + ": " + text
}

// place returns the subject of an error. It joins a list of names with dots. For the source of JSON:API, it returns the pointer, parameter
// or header.
func place(item strictjson.Object) string {
	for _, name := range placeNames {
		switch v := item[name].(type) {
		case string:
			return v
		case []any:
			var steps []string
			for _, step := range v {
				if text, ok := strictjson.ScalarText(step); ok {
					steps = append(steps, text)
				}
			}
			return strings.Join(steps, ".")
		case map[string]any:
			if text := firstText(v, []string{"pointer", "parameter", "header"}); text != "" {
				return text
			}
		}
	}
	return ""
}

var markup = regexp.MustCompile(`(?s)<!--.*?-->|</?[A-Za-z!?][^<>]*>`)

// clean returns text of the service in one line, without markup, control characters and invisible characters, cut to maxMessage characters.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d': // some scripts need these to join and separate letters
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		default:
			return r
		}
	}, s)
	for range 4 { // the text around removed markup may form new markup
		s = markup.ReplaceAllString(s, " ")
	}
	if markup.MatchString(s) {
		s = strings.NewReplacer("<", "", ">", "").Replace(s)
	}
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > maxMessage {
		s = strings.TrimSpace(string(runes[:maxMessage]))
	}
	return s
}
