package field

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers reads the numbers of a repeated field and passes each to add. It accepts both encodings that proto3 permits, packed and
// unpacked. If add returns false, it stops with an error.
func (r *Reader) Numbers(kind protowire.Type, add func(uint64) bool) {
	value := r.value
	if r.err == nil && r.kind != kind {
		value = r.Each(math.MaxInt, math.MaxInt)
	}
	for len(value) > 0 && r.err == nil {
		v, n := consume(kind, value)
		if n < 0 {
			r.Fail("malformed or truncated")
			return
		}
		if value = value[n:]; !add(v) {
			r.Fail("too many values, or a value out of range")
		}
	}
}

// consume decodes one number.
func consume(kind protowire.Type, data []byte) (uint64, int) {
	if kind == protowire.Fixed64Type {
		return protowire.ConsumeFixed64(data)
	}
	return protowire.ConsumeVarint(data)
}

// MapLimits limits the number of entries in a map, and the bytes of each key and each value.
type MapLimits struct{ Entries, Key, Value int }

// Entry reads an entry of a map from strings to strings, bytes or numbers into m, and returns m. If m is nil, it creates the map. It
// rejects a repeated key. Numbers have no MapLimits.Value.
func Entry[V string | []byte | int64 | float64](r *Reader, m map[string]V, limits MapLimits) map[string]V {
	entry := Read(r.Each(limits.Entries, math.MaxInt))
	var key string
	var value V
	for entry.Next() {
		switch entry.Number() {
		case 1:
			key = entry.Text(limits.Key)
		case 2:
			switch v := any(&value).(type) {
			case *string:
				*v = entry.Text(limits.Value)
			case *[]byte:
				*v = entry.Bytes(limits.Value)
			case *int64:
				*v = entry.Int64()
			case *float64:
				*v = entry.Double()
			}
		}
	}
	r.Within(entry.Err())
	if r.Err() != nil {
		return m
	}
	if m == nil {
		m = map[string]V{}
	}
	if _, twice := m[key]; twice {
		r.err = fmt.Errorf("%w: field %d: a key occurs twice", ErrUndecodable, r.number)
	}
	m[key] = value
	return m
}
