// Package field reads and writes the fields of messages of proto3, without generated code, on top of protowire. The
// reader is stricter than proto3 asks for: what two readers could take for two different messages is refused.
//
//	r := field.Read(data)
//	for r.Next() {
//		switch r.Number() {
//		case 1:
//			to = r.Text(maxAddress)
//		}
//	}
//	return r.Err()
package field

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrUndecodable is wrapped by every error of a decoder. Its text never quotes the input.
var ErrUndecodable = errors.New("undecodable")

// known is one more than the largest field number of any message here.
const known = 16

// A Reader reads the fields of one message. It skips fields with other numbers, as proto3 requires. It rejects a known field with another
// wire type, a repeated occurrence of a field that is not repeated, two members of one oneof, text that is not UTF-8, numbers that do not
// fit their type, and input that ends too early.
type Reader struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	value  []byte // as on the wire, with its length
	count  [known]int
	chosen bool
	err    error
}

// Read returns a reader at the beginning of a message. What the reader returns as bytes shares memory with data.
func Read(data []byte) *Reader { return &Reader{rest: data} }

// Next moves to the next field, and reports whether there is one: no error has occurred so far, and bytes are left.
func (r *Reader) Next() bool {
	if r.err != nil || len(r.rest) == 0 {
		return false
	}
	number, kind, n := protowire.ConsumeTag(r.rest)
	if n < 0 || !number.IsValid() {
		r.err = fmt.Errorf("%w: a tag is malformed or cut off", ErrUndecodable)
		return false
	}
	r.number, r.kind = number, kind
	size := protowire.ConsumeFieldValue(number, kind, r.rest[n:])
	if size < 0 {
		r.Fail("malformed or cut off")
		return false
	}
	r.value, r.rest = r.rest[n:n+size], r.rest[n+size:]
	if number < known {
		r.count[number]++
	}
	return true
}

// Number returns the number of the field.
func (r *Reader) Number() int { return int(r.number) }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail ends the reading with an error that names the field. what is our own text.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: field %d: %s", ErrUndecodable, r.number, what)
	}
}

// Within ends the reading with the error of a nested message, if there is one.
func (r *Reader) Within(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("field %d: %w", r.number, err)
	}
}

// Choose marks the field as a member of the message's oneof; only one may be present.
func (r *Reader) Choose() {
	if r.chosen {
		r.Fail("a second member of a oneof")
	}
	r.chosen = true
}

// Chosen ends the reading with an error if no member of the oneof is present.
func (r *Reader) Chosen() {
	if r.err == nil && !r.chosen {
		r.err = fmt.Errorf("%w: no member of a oneof", ErrUndecodable)
	}
}

// single rejects a repeated field.
func (r *Reader) single() bool {
	if r.number < known && r.count[r.number] > 1 {
		r.Fail("repeated")
	}
	return r.err == nil
}

// is refuses a field of another type.
func (r *Reader) is(kind protowire.Type) bool {
	if r.err == nil && r.kind != kind {
		r.Fail("of another type")
	}
	return r.err == nil
}

// Bytes reads bytes, at most limit, or a message.
func (r *Reader) Bytes(limit int) []byte {
	if !r.single() {
		return nil
	}
	return r.Each(math.MaxInt, limit)
}

// Each reads bytes or a message of a repeated field, which may occur at most times.
func (r *Reader) Each(times, limit int) []byte {
	if r.number < known && r.count[r.number] > times {
		r.Fail("too many of them")
	}
	if !r.is(protowire.BytesType) {
		return nil
	}
	value, _ := protowire.ConsumeBytes(r.value)
	if len(value) > limit {
		r.Fail("too long")
		return nil
	}
	return slices.Clip(value) // so that appending to it does not overwrite the following bytes
}

// Text reads UTF-8 of at most limit bytes.
func (r *Reader) Text(limit int) string { return r.text(r.Bytes(limit)) }

// EachText reads UTF-8 of a repeated field.
func (r *Reader) EachText(times, limit int) string { return r.text(r.Each(times, limit)) }

func (r *Reader) text(b []byte) string {
	if !utf8.Valid(b) {
		r.Fail("no UTF-8")
		return ""
	}
	return string(b)
}

// Int64 reads an integer of type int64.
func (r *Reader) Int64() int64 {
	if !r.single() || !r.is(protowire.VarintType) {
		return 0
	}
	v, _ := protowire.ConsumeVarint(r.value)
	return int64(v)
}

// Int32 reads an integer of type int32. Negative ones have ten bytes; a value that does not fit is rejected, never truncated.
func (r *Reader) Int32() int32 {
	v := r.Int64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.Fail("beyond 32 bits")
		return 0
	}
	return int32(v)
}

// Enum reads a value of an enumeration, whose values are 0 to last. It rejects others, unlike proto3.
func (r *Reader) Enum(last int) int {
	v := r.Int64()
	if v < 0 || v > int64(last) {
		r.Fail("no value of its enumeration")
		return 0
	}
	return int(v)
}

// Bool reads 0 or 1.
func (r *Reader) Bool() bool { return r.Enum(1) == 1 }

// Double reads a number of type double.
func (r *Reader) Double() float64 {
	if !r.single() || !r.is(protowire.Fixed64Type) {
		return 0
	}
	v, _ := protowire.ConsumeFixed64(r.value)
	return math.Float64frombits(v)
}
