package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A document is a whole OpenAPI 3 document as a tree.
type document struct {
	root map[string]any
	old  bool // 3.0: $ref has no siblings, nullable and boolean exclusive bounds
	note string
}

// read detects the format of a document, OpenAPI or Swagger, and its version.
func read(data []byte) (*document, error) {
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrDocument, len(data), MaxDocument)
	}
	root, err := decode(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	version, swagger := text(root["openapi"]), text(root["swagger"])
	switch {
	case swagger == "2.0" || swagger == "2":
		return &document{root: fromSwagger(root), old: true}, nil
	case version == "3.0" || strings.HasPrefix(version, "3.0."):
		return &document{root: root, old: true}, nil
	case version == "3.1" || strings.HasPrefix(version, "3.1."):
		return &document{root: root}, nil
	case version == "3.2" || strings.HasPrefix(version, "3.2."):
		return &document{root: root, note: "it is OpenAPI 3.2, read as 3.1: what 3.2 added is not mapped"}, nil
	case version != "" || swagger != "":
		return nil, fmt.Errorf("%w: its version is %.20q; OpenAPI 3.0 and 3.1 and Swagger 2.0 are read", ErrDocument, version+swagger)
	default:
		return nil, fmt.Errorf("%w: it has neither openapi nor swagger at its top, which say what it is", ErrDocument)
	}
}

// decode reads JSON, else YAML. A document that begins with a quoted name is JSON, and its errors are those of JSON:
// YAML would accept much that JSON does not.
func decode(data []byte) (map[string]any, error) {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if !ok || !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte{'"'}) {
		return decodeYAML(data)
	}
	root, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("it is not acceptable JSON: %w", err)
	}
	return root, nil
}

// text returns a string, or the text of a number or boolean, such as version: 1.0 in YAML.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	default:
		return ""
	}
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func flag(v any) bool {
	b, _ := v.(bool)
	return b
}

// An outsideError is a reference to another document.
type outsideError struct{ ref string }

func (e *outsideError) Error() string {
	return fmt.Sprintf("it refers to %s, outside the document, and nothing else is ever loaded: bundle the documents into one first",
		excerpt(e.ref))
}

// pointer returns the JSON pointer of a reference, which must stay inside the document.
func pointer(ref string) (string, error) {
	inside, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return "", &outsideError{ref}
	}
	plain, err := url.PathUnescape(inside)
	if err != nil || plain != "" && plain[0] != '/' {
		return "", fmt.Errorf("the reference %s cannot be followed: only places such as #/components/schemas/Name can", excerpt(ref))
	}
	return plain, nil
}

const maxHops = 16

// follow resolves a reference in place of anything but a schema: a parameter, body, answer or path.
func (d *document) follow(v any, what string) (map[string]any, error) {
	for range maxHops {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is not an object but %s", what, strictjson.Kind(v))
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return m, nil
		}
		at, err := pointer(ref)
		if err != nil {
			return nil, err
		}
		next, found := strictjson.Lookup(d.root, at)
		if !found {
			return nil, fmt.Errorf("%s refers to %s, which is not in the document", what, excerpt(ref))
		}
		v = next
	}
	return nil, fmt.Errorf("%s refers to itself", what)
}

// excerpt quotes a text of the document in one short line, fit for a terminal.
func excerpt(s string) string { return "\"" + line(s, 120) + "\"" }

// line makes one printable line of at most most characters.
func line(s string, most int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		if r <= ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == utf8.RuneError || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
			r <= 0x2069 {
			space = b.Len() > 0
			continue
		}
		if n++; n > most {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// trimmed shortens a description, which may be Markdown of several lines, to most characters.
func trimmed(v any, most int) string {
	s, _ := v.(string)
	s = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), ""))
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)[:most-1]
	cut := string(runes)
	if i := strings.LastIndexAny(cut, " \n"); i > len(cut)*3/4 {
		cut = cut[:i]
	}
	return strings.TrimSpace(cut) + "…"
}
