package strictjson

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Append appends the JSON of a tree that Decode made, or of a part of one, to out. The JSON is compact, its members are sorted by name,
// numbers are as they were written, and strings have only the required escapes. If v contains a value of another type, Append returns an
// error and leaves out unchanged.
func Append(out []byte, v any) ([]byte, error) { return appendValue(out, v, false) }

// AppendForHTML is like Append, but also escapes <, >, &, U+2028 and U+2029: its output is byte for byte that of json.Marshal.
func AppendForHTML(out []byte, v any) ([]byte, error) { return appendValue(out, v, true) }

func appendValue(out []byte, v any, html bool) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		if v {
			return append(out, "true"...), nil
		}
		return append(out, "false"...), nil
	case string:
		return appendText(out, v, html)
	case json.Number:
		if v == "" || strings.Trim(string(v), "+-.0123456789Ee") != "" {
			return out, fmt.Errorf("%T is not a number that Decode makes", v)
		}
		return append(out, v...), nil
	case []any:
		return appendList(out, v, html)
	case map[string]any:
		return appendObject(out, v, html)
	case Object:
		return appendObject(out, v, html)
	default:
		return out, fmt.Errorf("%T is not a value that Decode makes", v)
	}
}

func appendList(out []byte, list []any, html bool) ([]byte, error) {
	before := len(out)
	out = append(out, '[')
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendValue(out, item, html); err != nil {
			return out[:before], err
		}
	}
	return append(out, ']'), nil
}

func appendObject(out []byte, members map[string]any, html bool) ([]byte, error) {
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
		if out, err = appendText(out, name, html); err == nil {
			out, err = appendValue(append(out, ':'), members[name], html)
		}
		if err != nil {
			return out[:before], err
		}
	}
	return append(out, '}'), nil
}

func appendText(out []byte, s string, html bool) ([]byte, error) {
	if !plain(s, html) {
		return appendEscaped(out, s, html)
	}
	return append(append(append(out, '"'), s...), '"'), nil
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
