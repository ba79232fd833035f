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

// An object reads the members of a JSON object in a request and records the first error. It ignores unknown members, because the protocol
// may add members within a version.
type object struct {
	members strictjson.Object
	raw     map[string][]byte // the members in asItIs, as encoded
	at      string            // prefix of member names in error messages, such as "" or "attachments/0/"
	err     *Error
}

// asItIs contains the names of the members that stay encoded. This package does not decode a body, so the number of values in it is not
// limited.
var asItIs = map[string]bool{"body": true, "message": true, "metadata": true}

// readObject strictly decodes the JSON object in a request (RFC 8259): names must be unique in each object, and the depth is limited. The
// error has the code bad_request or payload_too_large.
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
			return nil, refuse(TooLarge, fmt.Sprintf("%s must be at most %d bytes long", printable(name), maxMember))
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
		err = errors.New("the document is not accepted")
	}
	return nil, refuse(BadRequest, "the body must be a JSON object: "+err.Error())
}

// maxMember limits the size of one member of a request, in bytes. The members in asItIs are exempt. The limit is enough for twenty
// capabilities with their schemas.
const maxMember = 512 << 10

// printable quotes a received name for an error message, in ASCII and truncated to 64 bytes.
func printable(name string) string { return strconv.QuoteToASCII(name[:min(len(name), 64)]) }

func (o *object) fail(code Code, name, want string) {
	if o.err == nil {
		o.err = refuse(code, fmt.Sprintf("%s%s %s", o.at, name, want))
	}
}

// has reports whether a member is present and not null.
func (o *object) has(name string) bool { return o.members[name] != nil }

// null reports whether a member is present and null.
func (o *object) null(name string) bool { return o.members.Has(name) && o.members[name] == nil }

// text returns a string member, or "" if the member is missing. The string may have up to limit characters.
func (o *object) text(name string, limit int) string {
	if !o.has(name) {
		return ""
	}
	s, ok := o.members[name].(string)
	switch {
	case !ok:
		o.fail(BadRequest, name, "must be a string")
	case utf8.RuneCountInString(s) > limit:
		o.fail(BadRequest, name, fmt.Sprintf("must be at most %d characters long", limit))
	}
	return s
}

// required is like text, but reports an error if the member is missing or empty.
func (o *object) required(name string, limit int) string {
	s := o.text(name, limit)
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

// whole returns an integer member. The parameter otherwise is the result for a missing member.
func (o *object) whole(name string, from, to, otherwise int64) int64 {
	if !o.has(name) {
		return otherwise
	}
	number, ok := o.members[name].(json.Number)
	n, err := number.Int64()
	if !ok || err != nil || n < from || n > to {
		o.fail(BadRequest, name, fmt.Sprintf("must be an integer from %d to %d", from, to))
	}
	return n
}

// object returns the encoding of an object member, or nil if the member is missing. The encoding may have up to limit bytes.
func (o *object) object(name string, limit int) json.RawMessage {
	if !o.has(name) {
		return nil
	}
	v, ok := strictjson.AsObject(o.members[name])
	if !ok {
		o.fail(BadRequest, name, "must be an object")
		return nil
	}
	text, err := strictjson.Append(nil, map[string]any(v))
	if err != nil || len(text) > limit {
		o.fail(Unprocessable, name, fmt.Sprintf("must be at most %d bytes long", limit))
	}
	return text
}

// asSent returns a member in asItIs as it was sent, or nil if the member is missing or null. The member must be an object with up to limit
// bytes.
func (o *object) asSent(name string, limit int) []byte {
	raw := o.raw[name]
	switch {
	case raw == nil || string(raw) == "null":
		return nil
	case raw[0] != '{':
		o.fail(BadRequest, name, "must be an object")
	case len(raw) > limit:
		o.fail(Unprocessable, name, fmt.Sprintf("must be at most %d bytes long", limit))
	}
	return raw
}

// list returns a list member, or nil if the member is missing. The list may have up to limit items.
func (o *object) list(name string, limit int) []any {
	if !o.has(name) {
		return nil
	}
	l, ok := o.members[name].([]any)
	switch {
	case !ok:
		o.fail(BadRequest, name, "must be a list")
	case len(l) > limit:
		o.fail(Unprocessable, name, fmt.Sprintf("must have at most %d items", limit))
	}
	return l
}

// oneOf returns the member that must equal one of words, or "" if the member is missing.
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
