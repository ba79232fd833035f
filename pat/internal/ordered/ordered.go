// Package ordered encodes a JSON document as the standard libraries of other programming languages do, so that a signature over such an
// encoding can be verified. Unlike the trees of strictjson, it preserves the order of the members.
package ordered

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Node is a JSON value. The members of an object are in the order of the document.
type Node struct {
	kind  jsontext.Kind // as the decoder names it: { [ " 0 t f n
	text  string        // the value of a string, or the source text of a number
	names []string
	items []Node
}

// Parse parses a document. strictjson must have accepted the document, which bounds its depth; Parse returns an error only for other
// documents.
func Parse(raw []byte) (Node, error) {
	return readNode(jsontext.NewDecoder(bytes.NewReader(raw)))
}

func readNode(dec *jsontext.Decoder) (Node, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return Node{}, fmt.Errorf("reading JSON: %w", err)
	}
	n := Node{kind: token.Kind()}
	switch n.kind {
	case '"', '0':
		n.text = token.String()
	case '{', '[':
		for end := n.kind + 2; dec.PeekKind() != end; { // } and ] are two code points after { and [
			if n.kind == '{' {
				name, err := dec.ReadToken()
				if err != nil {
					return Node{}, fmt.Errorf("reading JSON: %w", err)
				}
				n.names = append(n.names, name.String())
			}
			item, err := readNode(dec)
			if err != nil {
				return Node{}, err
			}
			n.items = append(n.items, item)
		}
		if _, err := dec.ReadToken(); err != nil {
			return Node{}, fmt.Errorf("reading JSON: %w", err)
		}
	default:
	}
	return n, nil
}

// A style describes how the standard library of a language writes JSON.
type style struct {
	comma, colon string
	number       func(text string) (string, error)
	quote        func(b []byte, s string) []byte
	order        func(names []string) []int // nil means the order of the document
}

// ECMAScript appends the result of JSON.stringify(JSON.parse(text)) to b. It returns an error if a number is out of the range of float64.
// ECMA-262 25.5.2.
func (n Node) ECMAScript(b []byte) ([]byte, error) {
	return n.write(b, &style{",", ":", ecmascriptNumber, ecmascriptQuote, ecmascriptOrder})
}

// Python appends the result of json.dumps(json.loads(text)) to b. It returns an error if a number with a point or an exponent is out of the
// range of float64.
func (n Node) Python(b []byte) ([]byte, error) {
	return n.write(b, &style{", ", ": ", pythonNumber, pythonQuote, nil})
}

func (n Node) write(b []byte, s *style) ([]byte, error) {
	switch n.kind {
	case 't':
		return append(b, "true"...), nil
	case 'f':
		return append(b, "false"...), nil
	case 'n':
		return append(b, "null"...), nil
	case '"':
		return s.quote(b, n.text), nil
	case '0':
		text, err := s.number(n.text)
		return append(b, text...), err
	default:
	}
	b = append(b, byte(n.kind))
	order := make([]int, len(n.items))
	for i := range order {
		order[i] = i
	}
	if n.kind == '{' && s.order != nil {
		order = s.order(n.names)
	}
	for at, i := range order {
		if at > 0 {
			b = append(b, s.comma...)
		}
		if n.kind == '{' {
			b = append(s.quote(b, n.names[i]), s.colon...)
		}
		var err error
		if b, err = n.items[i].write(b, s); err != nil {
			return nil, err
		}
	}
	return append(b, byte(n.kind+2)), nil
}

func ecmascriptNumber(text string) (string, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", fmt.Errorf("a number is out of the range of float64: %w", err)
	}
	return jcs.NumberToJSON(f)
}

// ecmascriptOrder returns the order of the members: first the names that are array indices, ascending, then the others (ECMA-262 10.1.11).
func ecmascriptOrder(names []string) []int {
	order := make([]int, 0, len(names))
	for i, name := range names {
		if _, ok := arrayIndex(name); ok {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, _ := arrayIndex(names[a])
		y, _ := arrayIndex(names[b])
		return int(x - y)
	})
	for i, name := range names {
		if _, ok := arrayIndex(name); !ok {
			order = append(order, i)
		}
	}
	return order
}

func arrayIndex(name string) (int64, bool) {
	if name == "" || len(name) > 10 || (name[0] == '0' && name != "0") || strings.Trim(name, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.ParseInt(name, 10, 64)
	return i, err == nil && i < 1<<32-1
}

var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func ecmascriptQuote(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		short, ok := shortEscapes[r]
		switch {
		case ok:
			b = append(b, short...)
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

func pythonQuote(b []byte, s string) []byte {
	return strictjson.AppendASCII(b, ecmascriptQuote(nil, s))
}

// pythonNumber writes an int unchanged (but -0 as 0), and a float in the form of repr. That form has the fewest digits, an exponent if the
// value is below 1e-4 or at least 1e16, and always a point or an exponent.
func pythonNumber(text string) (string, error) {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			return "0", nil
		}
		return text, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", fmt.Errorf("a number is out of the range of float64: %w", err)
	}
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, err := strconv.Atoi(scientific[strings.IndexByte(scientific, 'e')+1:])
	if err != nil {
		return "", fmt.Errorf("reading an exponent: %w", err)
	}
	if exponent < -4 || exponent >= 16 {
		return scientific, nil
	}
	decimal := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(decimal, ".") {
		decimal += ".0"
	}
	return decimal, nil
}
