package field

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendText appends a field of text. Proto3 leaves out an empty one.
func AppendText(out []byte, number int, s string) []byte {
	if s == "" {
		return out
	}
	return AppendMember(out, number, []byte(s))
}

// AppendBytes appends a field of bytes, but no empty one.
func AppendBytes(out []byte, number int, b []byte) []byte {
	if len(b) == 0 {
		return out
	}
	return AppendMember(out, number, b)
}

// AppendInt appends an integer, an enumeration or a boolean, but not 0.
func AppendInt(out []byte, number int, v int64) []byte {
	if v == 0 {
		return out
	}
	return AppendIntMember(out, number, v)
}

// AppendDouble appends a number, but not 0; negative zero is not 0.
func AppendDouble(out []byte, number int, v float64) []byte {
	if math.Float64bits(v) == 0 {
		return out
	}
	return AppendDoubleMember(out, number, v)
}

// AppendMember appends bytes, text or a message that is always written: a member of a oneof, an element of a repeated field, or a message
// that is present though empty.
func AppendMember(out []byte, number int, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, protowire.Number(number), protowire.BytesType), b)
}

// AppendIntMember appends an integer that is a member of a oneof.
func AppendIntMember(out []byte, number int, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(out, protowire.Number(number), protowire.VarintType), uint64(v))
}

// AppendDoubleMember appends a number that is a member of a oneof.
func AppendDoubleMember(out []byte, number int, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(out, protowire.Number(number), protowire.Fixed64Type), math.Float64bits(v))
}

// AppendMap appends the entries of a map in the order of their keys, so that equal maps have equal bytes.
func AppendMap[V string | []byte](out []byte, number int, m map[string]V) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = AppendMember(out, number, AppendMember(AppendMember(nil, 1, []byte(key)), 2, []byte(m[key])))
	}
	return out
}

// Int converts a boolean to its form on the wire.
func Int(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
