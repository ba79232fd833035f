package field

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendText appends a string field. Proto3 omits an empty string.
func AppendText(out []byte, number int, s string) []byte {
	if s == "" {
		return out
	}
	return AppendMember(out, number, []byte(s))
}

// AppendBytes appends a bytes field, unless b is empty.
func AppendBytes(out []byte, number int, b []byte) []byte {
	if len(b) == 0 {
		return out
	}
	return AppendMember(out, number, b)
}

// AppendInt appends an integer, an enumeration or a boolean, unless it is 0.
func AppendInt(out []byte, number int, v int64) []byte {
	if v == 0 {
		return out
	}
	return AppendIntMember(out, number, v)
}

// AppendDouble appends a double, unless it is 0. It appends negative zero.
func AppendDouble(out []byte, number int, v float64) []byte {
	if math.Float64bits(v) == 0 {
		return out
	}
	return AppendDoubleMember(out, number, v)
}

// AppendMember appends bytes, text or a message even if it is empty. It is for a member of a oneof, an element of a repeated field, and a
// message that is present.
func AppendMember(out []byte, number int, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, protowire.Number(number), protowire.BytesType), b)
}

// AppendIntMember appends an integer that is a member of a oneof, even if it is 0.
func AppendIntMember(out []byte, number int, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(out, protowire.Number(number), protowire.VarintType), uint64(v))
}

// AppendDoubleMember appends a double that is a member of a oneof, even if it is 0.
func AppendDoubleMember(out []byte, number int, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(out, protowire.Number(number), protowire.Fixed64Type), math.Float64bits(v))
}

// AppendMap appends the entries of a map in the order of their keys, so that equal maps have equal bytes.
func AppendMap[V string | []byte | int64 | float64](out []byte, number int, m map[string]V) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		entry := AppendMember(nil, 1, []byte(key))
		switch v := any(m[key]).(type) {
		case string:
			entry = AppendMember(entry, 2, []byte(v))
		case []byte:
			entry = AppendMember(entry, 2, v)
		case int64:
			entry = AppendIntMember(entry, 2, v)
		case float64:
			entry = AppendDoubleMember(entry, 2, v)
		}
		out = AppendMember(out, number, entry)
	}
	return out
}

// Int returns the encoding of a boolean.
func Int(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
