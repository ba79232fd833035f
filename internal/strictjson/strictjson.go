// Package strictjson reads all JSON from untrusted sources.
//
// encoding/json matches member names in any case, uses the last of several members with the same name, ignores trailing bytes and rounds
// numbers to float64. This package does none of that: it keeps numbers as they were written, rejects duplicate members, invalid UTF-8,
// U+0000 and trailing bytes, and limits the depth of documents and the size of numbers. Typical use:
//
//	tree, err := strictjson.DecodeObject(body)
//
// The caller must limit the size of the document, for example with an io.LimitedReader.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxDepth is the maximum nesting of arrays and objects; a scalar at the top has depth 0.
	MaxDepth = 64
	// maxNumber is the maximum length of a number, and maxExponent the maximum of its decimal exponent in either direction, so that later
	// arithmetic (big.Rat, decimal) is fast. Both allow more than float64 does.
	maxNumber   = 400
	maxExponent = 400
)

// An Error describes where a document stops being acceptable JSON, and why.
type Error struct {
	Line, Column int    // 1-based; Column counts bytes
	Pointer      string // RFC 6901 pointer to the value being read
	Reason       string
}

func (e *Error) Error() string {
	at := ""
	if e.Pointer != "" {
		at = " at " + printablePointer(e.Pointer)
	}
	return fmt.Sprintf("line %d column %d%s: %s", e.Line, e.Column, at, e.Reason)
}

// printablePointer returns a pointer for a terminal or a log: without the characters that cannot be printed, and shortened if it is long.
// The names in a pointer come from the document.
func printablePointer(pointer string) string {
	const most = 200
	out := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(pointer, ""))
	if runes := []rune(out); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return out
}

// Decode reads exactly one JSON value, and returns it as a tree of map[string]any, []any, string, json.Number, bool and nil. Every error
// is an *Error.
func Decode(data []byte) (any, error) { return decode(data, math.MaxInt) }

func decode(data []byte, most int) (any, error) {
	if v, ok := tree(data, most); ok {
		return v, nil
	}
	return explain(data, most)
}

// explain reads a document like tree, but returns a description of the error.
func explain(data []byte, most int) (any, error) {
	r := reader{data: data, dec: jsontext.NewDecoder(bytes.NewBuffer(data)), most: most} // the decoder reads a Buffer without copying it
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, r.fail("more bytes follow the JSON value")
	}
	return v, nil
}

// Valid reports whether Decode accepts data. It does not build a tree.
func Valid(data []byte) bool {
	c := Begin(data)
	defer c.End()
	return c.Skip() && c.Complete()
}

// DecodeObject is like Decode, for a document that must be an object.
func DecodeObject(data []byte) (Object, error) { return DecodeObjectOf(data, math.MaxInt) }

// DecodeObjectOf is like DecodeObject, for a document of at most maxValues values: decoding a value takes far longer than reading its
// bytes.
func DecodeObjectOf(data []byte, maxValues int) (Object, error) {
	v, err := decode(data, maxValues)
	if err != nil {
		return nil, err
	}
	object, ok := AsObject(v)
	if !ok {
		return nil, &Error{Line: 1, Column: 1, Reason: "want a JSON object, not " + Kind(v)}
	}
	return object, nil
}

// Kind returns the JSON type of a value that Decode made: string, number, boolean, array, object or null.
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any, Object:
		return "object"
	default:
		return "number"
	}
}

// ScalarText returns a string, number or boolean that Decode made as text. A number is returned as it was written. ok is false for any
// other value.
func ScalarText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	default:
		return "", false
	}
}

// Position returns the 1-based line and column at which the value at pointer begins or, if it is a member of an object, its name. It
// returns 1, 1 if the document has no such value.
func Position(data []byte, pointer string) (line, column int) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		before := dec.InputOffset()
		if _, err := dec.ReadToken(); err != nil {
			return 1, 1
		}
		if string(dec.StackPointer()) == pointer {
			return place(data, skipSeparators(data, before))
		}
	}
}

type reader struct {
	data   []byte
	dec    *jsontext.Decoder
	values int // read so far
	most   int
}

func (r *reader) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, r.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	if r.values++; r.values > r.most {
		return nil, r.fail(fmt.Sprintf("more than %d values", r.most))
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, r.syntax(err)
	}
	switch tok.Kind() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		s := tok.String()
		return s, r.text(s)
	case '0':
		n := tok.String()
		return json.Number(n), r.number(n)
	case 't', 'f':
		return tok.Bool(), nil
	case 'n':
		return nil, nil //nolint:nilnil // JSON null is the value nil
	default:
		return nil, r.fail("want a JSON value")
	}
}

func (r *reader) object(depth int) (any, error) {
	m := map[string]any{}
	for r.dec.PeekKind() != '}' {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return nil, r.syntax(err)
		}
		name := tok.String()
		if err := r.text(name); err != nil {
			return nil, err
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m[name] = v
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, r.syntax(err)
	}
	return m, nil
}

func (r *reader) array(depth int) (any, error) {
	a := []any{}
	for r.dec.PeekKind() != ']' {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, r.syntax(err)
	}
	return a, nil
}

func (r *reader) text(s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return r.fail("a string contains the character U+0000")
	}
	return nil
}

func (r *reader) number(n string) error {
	if len(n) > maxNumber {
		return r.fail(fmt.Sprintf("a number has more than %d characters", maxNumber))
	}
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		if e, err := strconv.Atoi(n[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return r.fail(fmt.Sprintf("the exponent of a number is beyond %d", maxExponent))
		}
	}
	return nil
}

func (r *reader) fail(reason string) error {
	line, col := place(r.data, int(r.dec.InputOffset()))
	return &Error{Line: line, Column: col, Pointer: string(r.dec.StackPointer()), Reason: reason}
}

func (r *reader) syntax(err error) error {
	reason := notJSON
	offset := r.dec.InputOffset()
	pointer := string(r.dec.StackPointer())
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		reason = "the same member occurs twice in one object"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = tooEarly
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, pointer = syntactic.ByteOffset, string(syntactic.JSONPointer)
		// The library's error may quote the input, which may be secret, so only the kind of the error is reported.
		if syntactic.Err != nil && strings.Contains(syntactic.Err.Error(), "UTF-8") {
			reason = "a string is not valid UTF-8"
		}
	}
	if reason == notJSON {
		reason = cause(r.data, int(offset))
	}
	if reason == tooEarly {
		offset = int64(len(bytes.TrimRight(r.data, " \t\r\n")))
	}
	line, col := place(r.data, int(offset))
	return &Error{Line: line, Column: col, Pointer: pointer, Reason: reason}
}

func place(data []byte, offset int) (line, column int) {
	offset = min(offset, len(data))
	before := data[:offset]
	return 1 + bytes.Count(before, []byte{'\n'}), offset - (bytes.LastIndexByte(before, '\n') + 1) + 1
}

func skipSeparators(data []byte, offset int64) int {
	i := int(offset)
	for i < len(data) && strings.IndexByte(" \t\r\n,:", data[i]) >= 0 {
		i++
	}
	return i
}
