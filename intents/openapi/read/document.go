package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Methods lists the methods that OpenAPI describes. Those that the gateway can send come first.
var Methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace", "query"}

// A Document is a whole OpenAPI 3 document as a tree. Note, if not empty, is a remark for people about the version of the document.
type Document struct {
	Root map[string]any
	Old  bool // OpenAPI 3.0, with nullable, boolean exclusive bounds, and no siblings of $ref
	Note string

	files *files // the files to which the document may refer; nil if there are none
}

// The bounds on one document.
const (
	MaxDocument = 64 << 20 // bytes, including the files to which the document refers
	MaxFiles    = 5000     // files to which the document refers
)

// ErrDocument means that a whole document is unusable; the rest of the message is the reason.
var ErrDocument = errors.New("the OpenAPI document cannot be used")

// Parse reads an OpenAPI or Swagger document in JSON or YAML. fsys has the files that the document may refer to, or is nil if there are
// none; name is the path of the document itself in fsys. The error wraps ErrDocument.
func Parse(data []byte, fsys fs.FS, name string) (*Document, error) {
	left := &budget{bytes: MaxDocument, nodes: maxNodes, marks: maxMarks}
	root, err := decode(data, left)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	var more *files
	if fsys != nil {
		more = &files{fsys: fsys, entry: path.Clean(name), left: left, read: map[string]*file{}}
		more.anchorFile(root, more.entry)
	}
	version, swagger := Text(root["openapi"]), Text(root["swagger"])
	switch {
	case swagger == "2.0" || swagger == "2":
		return &Document{Root: fromSwagger(root, more), Old: true, files: more}, nil
	case version == "3.0" || strings.HasPrefix(version, "3.0."):
		return &Document{Root: root, Old: true, files: more}, nil
	case version == "3.1" || strings.HasPrefix(version, "3.1."):
		return &Document{Root: root, files: more}, nil
	case version == "3.2" || strings.HasPrefix(version, "3.2."):
		return &Document{Root: root, files: more, Note: "the document is OpenAPI 3.2 and is read as 3.1: the additions of 3.2 are ignored"}, nil
	case version != "" || swagger != "":
		return nil, fmt.Errorf("%w: its version is %.20q; supported versions are OpenAPI 3.0, 3.1 and 3.2, and Swagger 2.0", ErrDocument, version+swagger)
	default:
		return nil, fmt.Errorf("%w: it has neither openapi nor swagger at its top level; one is required", ErrDocument)
	}
}

// A budget bounds the remaining work: all files of a document together have the bounds of a single file.
type budget struct{ bytes, nodes, marks int }

// decode reads JSON or YAML. Input that begins with { and a quoted name is read as JSON, because a YAML parser would accept invalid JSON.
func decode(data []byte, left *budget) (map[string]any, error) {
	if left.bytes -= len(data); left.bytes < 0 {
		return nil, fmt.Errorf("it has %d bytes; all files together may have at most %d", len(data), MaxDocument)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if !ok || !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte{'"'}) {
		return decodeYAML(data, left)
	}
	root, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("it is not acceptable JSON: %w", err)
	}
	return root, nil
}

// Text returns a string, or the text of a number or boolean, such as version: 1.0 in YAML. It returns "" for any other value.
func Text(v any) string {
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

// Object returns v as an object, or nil if v is not an object.
func Object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// List returns v as a list, or nil if v is not a list.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// Flag returns v as a boolean, or false if v is not a boolean.
func Flag(v any) bool {
	b, _ := v.(bool)
	return b
}

// Excerpt quotes a string of the document in one short line that is safe for a terminal.
func Excerpt(s string) string { return "\"" + Line(s, 120) + "\"" }

// Line returns s as one printable line, without control characters. If the line has more than maxRunes characters, not counting most
// spaces, an ellipsis replaces the rest.
func Line(s string, maxRunes int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		if r <= ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == utf8.RuneError || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
			r <= 0x2069 {
			space = b.Len() > 0
			continue
		}
		if n++; n > maxRunes {
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
