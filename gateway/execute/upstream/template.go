package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// A piece is either fixed, escaped text or the placeholder of a parameter.
type piece struct{ text, param string }

// A pair is one member of a query, name=value.
type pair struct {
	key   string // escaped, as written
	name  string // unescaped
	value []piece
	bare  bool // written without =
}

// parsePath parses an absolute path whose segments may contain {name} placeholders.
func parsePath(raw string) ([][]piece, error) {
	if !strings.HasPrefix(raw, "/") {
		return nil, errors.New("want a path that starts with /")
	}
	if strings.Contains(raw, `\`) {
		return nil, errors.New(`the path contains a \`)
	}
	var path [][]piece
	for segment := range strings.SplitSeq(raw[1:], "/") {
		pieces, err := parsePieces(segment, "path segment")
		if err != nil {
			return nil, err
		}
		if len(pieces) == 1 && pieces[0].param == "" && isDots(pieces[0].text) {
			return nil, errors.New("the path contains a . or .. segment")
		}
		path = append(path, pieces)
	}
	return path, nil
}

func checkStaticPath(raw string) error {
	if raw == "" {
		return nil
	}
	path, err := parsePath(raw)
	if err != nil {
		return err
	}
	for _, segment := range path {
		for _, p := range segment {
			if p.param != "" {
				return errors.New("the path must not contain placeholders: only endpoints can have them")
			}
		}
	}
	return nil
}

func isDots(escaped string) bool {
	s, err := url.PathUnescape(escaped)
	return err != nil || s == "." || s == ".."
}

// parseQuery parses a query whose values may contain {name} placeholders.
func parseQuery(raw string) ([]pair, error) {
	if raw == "" {
		return nil, nil
	}
	var query []pair
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		key, value, found := strings.Cut(part, "=")
		if strings.ContainsAny(key, "{}") {
			return nil, fmt.Errorf("the name of a query parameter contains a placeholder (%s): only its value may contain one", key)
		}
		name, err := url.QueryUnescape(key)
		if err != nil || name == "" || strings.ContainsAny(part, ";") {
			return nil, errors.New("the query does not have the form name=value&name=value")
		}
		fixed, err := fix(key)
		if err != nil {
			return nil, err
		}
		pieces, err := parsePieces(value, "query value")
		if err != nil {
			return nil, err
		}
		query = append(query, pair{key: fixed, name: name, value: pieces, bare: !found})
	}
	return query, nil
}

func parsePieces(raw, where string) ([]piece, error) {
	var pieces []piece
	for raw != "" {
		text, rest, open := strings.Cut(raw, "{")
		if strings.Contains(text, "}") {
			return nil, fmt.Errorf("a %s has a } without a {", where)
		}
		if text != "" {
			fixed, err := fix(text)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, piece{text: fixed})
		}
		if !open {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return nil, fmt.Errorf("a placeholder is not closed or has no name: write {name} within one %s", where)
		}
		pieces = append(pieces, piece{param: name})
		raw = after
	}
	return pieces, nil
}

// fix checks fixed text, and escapes the characters that a URL must not contain. See RFC 3986, section 3.3.
func fix(text string) (string, error) {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return "", errors.New("a % is not followed by two hexadecimal digits")
	}
	if strings.ContainsFunc(plain, unicode.IsControl) {
		return "", errors.New("the URL contains control characters")
	}
	var fixed []byte
	for i := range len(text) {
		if c := text[i]; c == '%' || isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/?", c) >= 0 {
			fixed = append(fixed, c)
		} else {
			fixed = appendEscapedByte(fixed, c)
		}
	}
	return string(fixed), nil
}

// appendEscaped appends a value in which all characters are escaped, except the unreserved characters of RFC 3986 section 2.3, so that no
// character has a special meaning in a URL.
func appendEscaped(dst []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = appendEscapedByte(dst, c)
		}
	}
	return dst
}

func appendEscapedByte(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[c>>4], hex[c&15])
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
