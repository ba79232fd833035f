package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// Append appends the JSON of a tree that Decode made, or of a part of one, to out. The JSON is compact, its members are sorted by name,
// numbers are as they were written, and strings have only the required escapes. If v contains a value of another type, Append returns an
// error and leaves out unchanged.
func Append(out []byte, v any) ([]byte, error) { return compact.value(out, v) }

// AppendForHTML is like Append, but also escapes <, >, &, U+2028 and U+2029: its output is byte for byte that of json.Marshal.
func AppendForHTML(out []byte, v any) ([]byte, error) { return forHTML.value(out, v) }

// A style is a form of JSON. Its methods append a value, or return an error and leave out unchanged.
type style int

const (
	compact style = iota
	forHTML
	// canonical is the form of RFC 8785, for trees in which all strings and names are plain. Such strings need no escapes, and their order by
	// bytes is that of UTF-16. For other trees, the error is errNotPlain.
	canonical
)

var errNotPlain = errors.New("a string is not plain")

func (s style) value(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case string:
		return s.text(out, v)
	case json.Number:
		return s.number(out, v)
	case []any:
		return s.list(out, v)
	case map[string]any:
		return s.object(out, v)
	case Object:
		return s.object(out, v)
	default:
		return out, fmt.Errorf("%T is not a value that Decode makes", v)
	}
}

// number appends a number as it was written or, if it is canonical, as ECMAScript prints it (RFC 8785 3.2.2.3).
func (s style) number(out []byte, n json.Number) ([]byte, error) {
	if n == "" || strings.Trim(string(n), "+-.0123456789Ee") != "" {
		return out, fmt.Errorf("%T is not a number that Decode makes", n)
	}
	if s != canonical {
		return append(out, n...), nil
	}
	f, err := n.Float64()
	if err != nil {
		return out, err
	}
	text, err := jcs.NumberToJSON(f)
	if err != nil {
		return out, err
	}
	return append(out, text...), nil
}

func (s style) list(out []byte, list []any) ([]byte, error) {
	if list == nil && s == canonical {
		return append(out, "null"...), nil
	}
	before := len(out)
	out = append(out, '[')
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = s.value(out, item); err != nil {
			return out[:before], err
		}
	}
	return append(out, ']'), nil
}

func (s style) object(out []byte, members map[string]any) ([]byte, error) {
	if members == nil && s == canonical {
		return append(out, "null"...), nil
	}
	before := len(out)
	var few [16]string
	names := few[:0]
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = s.text(out, name); err == nil {
			out, err = s.value(append(out, ':'), members[name])
		}
		if err != nil {
			return out[:before], err
		}
	}
	return append(out, '}'), nil
}

func (s style) text(out []byte, text string) ([]byte, error) {
	switch {
	case plain(text, s == forHTML):
		return append(append(append(out, '"'), text...), '"'), nil
	case s == canonical:
		return out, errNotPlain
	default:
		return appendEscaped(out, text, s == forHTML)
	}
}

// plain reports whether a string is ASCII and needs no escapes in JSON.
func plain(s string, html bool) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || html && (c == '<' || c == '>' || c == '&') {
			return false
		}
	}
	return true
}

// appendEscaped appends a string that is not plain. encoding/json encodes it.
func appendEscaped(out []byte, s string, html bool) ([]byte, error) {
	var w writer // not out itself, so that out may stay on the caller's stack
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(html)
	err := e.Encode(s)
	return append(out, w.out[:len(w.out)-1]...), err // without the newline
}

type writer struct{ out []byte }

func (w *writer) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}
