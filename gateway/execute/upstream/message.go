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
	maxMessage = 300 // characters of a message that is sent to the agent
	// maxRawMessage bounds the text before it is shortened, in bytes.
	maxRawMessage = 8 << 10
)

var (
	// messageNames are the members of an error that may hold its message; the first with a text counts.
	messageNames = []string{"message", "detail", "title", "error", "error_message", "error_description"}
	// listNames are those that hold several errors.
	listNames = []string{"errors", "detail", "details"}
	// itemNames are the members of one of several errors that hold its message, and placeNames those with its subject.
	itemNames  = []string{"message", "detail", "msg", "title"}
	placeNames = []string{"loc", "field", "source", "path"}
)

// message returns the service's own message in a refusal, cleaned. It is empty if there is no message that agents may read.
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

// withoutNUL replaces U+0000, which strictjson refuses, by another control character, which clean removes.
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
		if before := raw[:at]; (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 { // otherwise the backslash is a literal character
			raw[at+len(escaped)-1] = '1'
		}
	}
}

// usualText finds the message of a problem document (RFC 9457), of JSON:API, GraphQL, FastAPI, Rails and similar formats.
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

// saidBy returns the text of an error: the text itself, the first of a list, the message of an object preceded by its subject, or the
// first member of an object of fields.
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

// firstOf returns a text, or the first in a list of texts or of errors.
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
	if place == "" || place == "base" { // Rails: the whole object
		return text
	}
	return place + ": " + text
}

// place returns the subject of an error: a list of names as a path, JSON:API's source as its pointer or parameter.
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

// clean makes a text of the service safe to show: no markup, no control or invisible characters, at most maxMessage characters.
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
	for range 4 { // the text around removed markup may form markup
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
