// Package field reads and writes the fields of proto3 messages on top of protowire, without generated code. The reader is stricter than
// proto3 requires: it rejects input that two readers could decode as two different messages.
//
//	fields := []field.Field{field.TextOf(1, &e.To, maxAddress), field.BytesOf(4, &e.Message, maxMessage)}
//	err := field.Decode(data, fields...)
//	data = field.Encode(fields...)
//
// A Reader reads messages that Fields cannot describe, such as a oneof.
package field

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrUndecodable is wrapped by every error of a decoder. The error texts never quote the input.
var ErrUndecodable = errors.New("undecodable")

// known is one more than the largest field number of all messages that this package reads.
const known = 16

// A Reader reads the fields of one message. It skips fields with unknown numbers, as proto3 requires. It rejects a known field with
// another wire type, a second occurrence of a field that is not repeated, and two members of one oneof. It also rejects text that is not
// UTF-8, numbers that do not fit their type, and input that ends too early.
type Reader struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	value  []byte // as on the wire, with its length
	count  [known]int
	chosen bool
	err    error
}

// Read returns a reader at the beginning of a message. The bytes that the reader returns share memory with data.
func Read(data []byte) *Reader { return &Reader{rest: data} }

// Next moves to the next field. It returns false at the end of the message and after an error.
func (r *Reader) Next() bool {
	if r.err != nil || len(r.rest) == 0 {
		return false
	}
	number, kind, n := protowire.ConsumeTag(r.rest)
	if n < 0 || !number.IsValid() {
		r.err = fmt.Errorf("%w: a tag is malformed or truncated", ErrUndecodable)
		return false
	}
	r.number, r.kind = number, kind
	size := protowire.ConsumeFieldValue(number, kind, r.rest[n:])
	if size < 0 {
		r.Fail("malformed or truncated")
		return false
	}
	r.value, r.rest = r.rest[n:n+size], r.rest[n+size:]
	if number < known {
		r.count[number]++
	}
	return true
}

// Number returns the number of the current field.
func (r *Reader) Number() int { return int(r.number) }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail stops the reader with an error that names the current field. what must not quote the input.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: field %d: %s", ErrUndecodable, r.number, what)
	}
}

// Within stops the reader with the error of a nested message, unless err is nil.
func (r *Reader) Within(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("field %d: %w", r.number, err)
	}
}

// Choose marks the current field as a member of the message's oneof. It stops the reader with an error if another member was chosen before.
func (r *Reader) Choose() {
	if r.chosen {
		r.Fail("more than one member of a oneof")
	}
	r.chosen = true
}

// Chosen stops the reader with an error if no member of the oneof is present.
func (r *Reader) Chosen() {
	if r.err == nil && !r.chosen {
		r.err = fmt.Errorf("%w: want a member of a oneof", ErrUndecodable)
	}
}

// single rejects a second occurrence of the current field.
func (r *Reader) single() bool {
	if r.number < known && r.count[r.number] > 1 {
		r.Fail("occurs more than once")
	}
	return r.err == nil
}

// is rejects a field of another wire type.
func (r *Reader) is(kind protowire.Type) bool {
	if r.err == nil && r.kind != kind {
		r.Fail("wrong wire type")
	}
	return r.err == nil
}

// Bytes reads a message or a bytes field of at most limit bytes.
func (r *Reader) Bytes(limit int) []byte {
	if !r.single() {
		return nil
	}
	return r.Each(math.MaxInt, limit)
}

// Each reads a message or bytes of a repeated field, with at most limit bytes. times is the maximum number of occurrences of the field.
func (r *Reader) Each(times, limit int) []byte {
	if r.number < known && r.count[r.number] > times {
		r.Fail("occurs too often")
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

// Text reads a string field of at most limit bytes.
func (r *Reader) Text(limit int) string { return r.text(r.Bytes(limit)) }

// EachText reads a string of a repeated field. The limits are those of Each.
func (r *Reader) EachText(times, limit int) string { return r.text(r.Each(times, limit)) }

func (r *Reader) text(b []byte) string {
	if !utf8.Valid(b) {
		r.Fail("not UTF-8")
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

// Int32 reads an integer of type int32. A negative integer has ten bytes on the wire. A value that does not fit is rejected, never
// truncated.
func (r *Reader) Int32() int32 {
	v := r.Int64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.Fail("does not fit in 32 bits")
		return 0
	}
	return int32(v)
}

// Enum reads a value of an enumeration with the values 0 to last. Unlike proto3, it rejects all other values.
func (r *Reader) Enum(last int) int {
	v := r.Int64()
	if v < 0 || v > int64(last) {
		r.Fail("out of range")
		return 0
	}
	return int(v)
}

// Bool reads a boolean. It rejects all numbers except 0 and 1.
func (r *Reader) Bool() bool { return r.Enum(1) == 1 }

// Double reads a double.
func (r *Reader) Double() float64 {
	if !r.single() || !r.is(protowire.Fixed64Type) {
		return 0
	}
	v, _ := protowire.ConsumeFixed64(r.value)
	return math.Float64frombits(v)
}
