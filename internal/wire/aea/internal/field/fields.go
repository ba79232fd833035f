package field

// A Field reads and writes one field of a message.
type Field struct {
	number int
	read   func(*Reader)
	write  func(out []byte) []byte
}

// Decode reads the fields of a message. It skips fields with other numbers.
func Decode(data []byte, fields ...Field) error {
	r := Read(data)
	for r.Next() {
		for _, f := range fields {
			if f.number == r.Number() {
				f.read(r)
			}
		}
	}
	return r.Err()
}

// Encode returns the bytes of a message with these fields, in this order. It does not check limits.
func Encode(fields ...Field) (out []byte) {
	for _, f := range fields {
		out = f.write(out)
	}
	return out
}

// TextOf is a string of at most limit bytes.
func TextOf(number int, s *string, limit int) Field {
	return Field{number, func(r *Reader) { *s = r.Text(limit) }, func(out []byte) []byte { return AppendText(out, number, *s) }}
}

// BytesOf is a bytes field of at most limit bytes.
func BytesOf(number int, b *[]byte, limit int) Field {
	return Field{number, func(r *Reader) { *b = r.Bytes(limit) }, func(out []byte) []byte { return AppendBytes(out, number, *b) }}
}

// Int32Of is an integer of type int32.
func Int32Of(number int, v *int32) Field {
	return Field{number, func(r *Reader) { *v = r.Int32() }, func(out []byte) []byte { return AppendInt(out, number, int64(*v)) }}
}

// EnumOf is an enumeration with the values 0 to last.
func EnumOf[E ~int](number int, v *E, last E) Field {
	return Field{
		number, func(r *Reader) { *v = E(r.Enum(int(last))) }, func(out []byte) []byte { return AppendInt(out, number, int64(*v)) },
	}
}

// BoolOf is a boolean.
func BoolOf(number int, v *bool) Field {
	return Field{number, func(r *Reader) { *v = r.Bool() }, func(out []byte) []byte { return AppendInt(out, number, Int(*v)) }}
}

// DoubleOf is a double.
func DoubleOf(number int, v *float64) Field {
	return Field{number, func(r *Reader) { *v = r.Double() }, func(out []byte) []byte { return AppendDouble(out, number, *v) }}
}

// TextsOf is a repeated string with at most times occurrences, each of at most limit bytes.
func TextsOf(number int, list *[]string, times, limit int) Field {
	return Field{number, func(r *Reader) { *list = append(*list, r.EachText(times, limit)) }, func(out []byte) []byte {
		for _, s := range *list {
			out = AppendMember(out, number, []byte(s))
		}
		return out
	}}
}

// MapOf is a map from strings.
func MapOf[V string | []byte | int64 | float64](number int, m *map[string]V, limits MapLimits) Field {
	return Field{
		number, func(r *Reader) { *m = Entry(r, *m, limits) }, func(out []byte) []byte { return AppendMap(out, number, *m) },
	}
}

// MessageOf is a message of at most limit bytes with fields of its own. It is written even if it is empty.
func MessageOf(number, limit int, fields ...Field) Field {
	return Field{
		number, func(r *Reader) { r.Within(Decode(r.Bytes(limit), fields...)) },
		func(out []byte) []byte { return AppendMember(out, number, Encode(fields...)) },
	}
}

// ListOf is a repeated message with at most times occurrences, each of at most limit bytes. The function fields returns the fields of one
// of them.
func ListOf[T any](number int, list *[]T, times, limit int, fields func(*T) []Field) Field {
	return Field{number, func(r *Reader) {
		var one T
		r.Within(Decode(r.Each(times, limit), fields(&one)...))
		*list = append(*list, one)
	}, func(out []byte) []byte {
		for _, one := range *list {
			out = AppendMember(out, number, Encode(fields(&one)...))
		}
		return out
	}}
}

// DecodedOf is a bytes field of at most limit bytes whose value is decoded by decode and appended to a message by write.
func DecodedOf[T any](number int, v *T, limit int, decode func([]byte) (T, error), write func(out []byte) []byte) Field {
	return Field{number, func(r *Reader) {
		decoded, err := decode(r.Bytes(limit))
		r.Within(err)
		*v = decoded
	}, write}
}
