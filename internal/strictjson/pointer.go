package strictjson

import "strings"

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// Escape writes one reference token of a JSON pointer. RFC 6901 section 3.
func Escape(token string) string { return escaper.Replace(token) }

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

// Unescape reads one reference token of a JSON pointer. RFC 6901 section 4.
func Unescape(token string) string { return unescaper.Replace(token) }

// Lookup follows a JSON pointer through a tree that Decode made. RFC 6901 section 4.
func Lookup(tree any, pointer string) (any, bool) {
	if pointer == "" {
		return tree, true
	}
	if root, ok := tree.(Object); ok {
		tree = map[string]any(root)
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = Unescape(token)
		switch node := tree.(type) {
		case map[string]any:
			next, ok := node[token]
			if !ok {
				return nil, false
			}
			tree = next
		case []any:
			i, ok := index(token, len(node))
			if !ok {
				return nil, false
			}
			tree = node[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

func index(token string, n int) (int, bool) {
	if token == "" || len(token) > 9 || (token[0] == '0' && token != "0") {
		return 0, false
	}
	i := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, i < n
}
