package mrp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// An object reads the members of a request, and keeps the first error. It ignores members that are not requested, because requests may
// gain some within a version.
type object struct {
	members strictjson.Object
	raw     map[string][]byte // of asItIs, as encoded
	at      string            // its position, for messages: "" or "attachments/0/"
	err     *Error
}

// asItIs names the members that are kept as bytes: this package does not decode a body, however many values it has.
var asItIs = map[string]bool{"body": true, "message": true, "metadata": true}

// readObject decodes a request's document strictly: JSON of RFC 8259, unique names in each object, bounded depth.
func readObject(document []byte) (*object, *Error) {
	o := &object{members: strictjson.Object{}, raw: map[string][]byte{}}
	c := strictjson.Begin(document)
	defer c.End()
	for c.Open('{'); c.Member(); {
		name := string(c.Name())
		raw := c.Value()
		switch {
		case raw == nil:
		case asItIs[name]:
			o.raw[name] = raw
		case len(raw) > maxMember:
			return nil, refuse(TooLarge, fmt.Sprintf("%s has to have at most %d bytes", printable(name), maxMember))
		default:
			v, err := strictjson.Decode(raw)
			if err != nil {
				return nil, refuse(BadRequest, printable(name)+": "+err.Error())
			}
			o.members[name] = v
		}
	}
	if c.Complete() {
		return o, nil
	}
	_, err := strictjson.DecodeObject(document)
	if err == nil {
		err = errors.New("it is not accepted")
	}
	return nil, refuse(BadRequest, "the body must be a JSON object: "+err.Error())
}

// maxMember bounds one member of a request except those of asItIs, in bytes: enough for twenty capabilities with their schemas.
const maxMember = 512 << 10

// printable makes a received name safe for a message.
func printable(name string) string { return strconv.QuoteToASCII(name[:min(len(name), 64)]) }

func (o *object) fail(code Code, name, want string) {
	if o.err == nil {
		o.err = refuse(code, fmt.Sprintf("%s%s %s", o.at, name, want))
	}
}

// has reports whether a member is there and not null.
func (o *object) has(name string) bool { return o.members[name] != nil }

// null reports whether a member is there and null.
func (o *object) null(name string) bool { return o.members.Has(name) && o.members[name] == nil }

// text reads a text of at most most characters; "" if it is missing.
func (o *object) text(name string, most int) string {
	if !o.has(name) {
		return ""
	}
	s, ok := o.members[name].(string)
	switch {
	case !ok:
		o.fail(BadRequest, name, "must be a text")
	case utf8.RuneCountInString(s) > most:
		o.fail(BadRequest, name, fmt.Sprintf("has to have at most %d characters", most))
	}
	return s
}

// required is text for a required member.
func (o *object) required(name string, most int) string {
	s := o.text(name, most)
	if s == "" {
		o.fail(BadRequest, name, "is missing")
	}
	return s
}

func (o *object) key(name string) (k Key) {
	text := o.required(name, 1024)
	if o.err != nil {
		return k
	}
	k, err := ParseKey(text)
	if err != nil {
		o.fail(BadRequest, name, "is not a key: "+err.Error())
	}
	return k
}

// whole reads an integer; otherwise if it is missing.
func (o *object) whole(name string, from, to, otherwise int64) int64 {
	if !o.has(name) {
		return otherwise
	}
	number, ok := o.members[name].(json.Number)
	n, err := number.Int64()
	if !ok || err != nil || n < from || n > to {
		o.fail(BadRequest, name, fmt.Sprintf("must be a whole number from %d to %d", from, to))
	}
	return n
}

// object reads an object of at most most bytes as text; nil if it is missing.
func (o *object) object(name string, most int) json.RawMessage {
	if !o.has(name) {
		return nil
	}
	v, ok := strictjson.AsObject(o.members[name])
	if !ok {
		o.fail(BadRequest, name, "must be an object")
		return nil
	}
	text, err := strictjson.Append(nil, map[string]any(v))
	if err != nil || len(text) > most {
		o.fail(Unprocessable, name, fmt.Sprintf("has to have at most %d bytes", most))
	}
	return text
}

// asSent returns one of asItIs, if it is there and not null: an object of at most most bytes.
func (o *object) asSent(name string, most int) []byte {
	raw := o.raw[name]
	switch {
	case raw == nil || string(raw) == "null":
		return nil
	case raw[0] != '{':
		o.fail(BadRequest, name, "must be an object")
	case len(raw) > most:
		o.fail(Unprocessable, name, fmt.Sprintf("has to have at most %d bytes", most))
	}
	return raw
}

// list reads a list of at most most items.
func (o *object) list(name string, most int) []any {
	if !o.has(name) {
		return nil
	}
	l, ok := o.members[name].([]any)
	switch {
	case !ok:
		o.fail(BadRequest, name, "must be a list")
	case len(l) > most:
		o.fail(Unprocessable, name, fmt.Sprintf("has to have at most %d items", most))
	}
	return l
}

// oneOf reads one of several values.
func oneOf[T ~string](o *object, name string, words ...T) (word T) {
	if !o.has(name) {
		return ""
	}
	text, _ := o.members[name].(string)
	var all []string
	for _, w := range words {
		if string(w) == text {
			return w
		}
		all = append(all, string(w))
	}
	o.fail(BadRequest, name, "must be one of "+strings.Join(all, ", "))
	return ""
}
