// Package search implements the language in which agents of the AEA framework search for services and describe them. A Query is matched
// against the attributes of an offer, and a Description describes an offer or a proposal. The protocols fipa and oef_search carry both.
//
//	q, err := search.DecodeQuery(data)
//	if q.Matches(search.Attributes{"tags": {search.Text("shop"), search.Text("books")}, "price": {search.Int(5)}}) …
//
// Decoded input is limited in length, number and depth. This also limits the work of matching a query: at most MaxNodes constraints, with
// MaxValues operands in total, for each value of an attribute.
package search

import (
	"cmp"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The limits of decoded input.
const (
	MaxName       = 128  // bytes of the name of an attribute or a model
	MaxText       = 4096 // bytes of a text value, and of the description of an attribute or a model
	MaxAttributes = 128  // attributes of a model, and values of a description
	MaxNodes      = 256  // constraints and operators of a query
	MaxValues     = 1024 // operands in all sets of a query
	MaxDepth      = 16   // nesting of and, or and not
)

// A Type is the type of a value. Values are never converted to another type.
type Type int

// The types. The values are the numbers of the types in a model.
const (
	TypeDouble   Type = 0
	TypeInt      Type = 1
	TypeBool     Type = 2
	TypeString   Type = 3
	TypeLocation Type = 4
)

// memberOf maps each type to the number of its member in the oneof of a value.
var memberOf = [...]int{TypeDouble: 2, TypeInt: 4, TypeBool: 3, TypeString: 1, TypeLocation: 5}

// A Value is one of Text, Double, Int, Bool and Location.
type Value interface {
	Type() Type
	append(out []byte) []byte // as a member of the oneof
}

// A Text is a string in UTF-8.
type Text string

// A Double is a floating-point number.
type Double float64

// An Int is an integer. It is never equal to a Double.
type Int int64

// A Bool is true or false.
type Bool bool

// A Location is a place on earth, in degrees.
type Location struct{ Lon, Lat float64 }

// Type returns TypeString.
func (Text) Type() Type { return TypeString }

// Type returns TypeDouble.
func (Double) Type() Type { return TypeDouble }

// Type returns TypeInt.
func (Int) Type() Type { return TypeInt }

// Type returns TypeBool.
func (Bool) Type() Type { return TypeBool }

// Type returns TypeLocation.
func (Location) Type() Type { return TypeLocation }

func (v Text) append(out []byte) []byte   { return field.AppendMember(out, 1, []byte(v)) }
func (v Double) append(out []byte) []byte { return field.AppendDoubleMember(out, 2, float64(v)) }
func (v Bool) append(out []byte) []byte   { return field.AppendIntMember(out, 3, field.Int(bool(v))) }
func (v Int) append(out []byte) []byte    { return field.AppendIntMember(out, 4, int64(v)) }
func (v Location) append(out []byte) []byte {
	return field.AppendMember(out, 5, v.encode())
}

func (v Location) encode() []byte { return field.Encode(v.fields()...) }

func decodeLocation(data []byte) (v Location, err error) {
	err = field.Decode(data, v.fields()...)
	return v, err
}

func (v *Location) fields() []field.Field {
	return []field.Field{field.DoubleOf(1, &v.Lon), field.DoubleOf(2, &v.Lat)}
}

// valueOf is a field that contains a value.
func valueOf(number int, v *Value) field.Field {
	return field.DecodedOf(number, v, wire.MaxEnvelope, decodeValue, func(out []byte) []byte {
		return field.AppendMember(out, number, (*v).append(nil))
	})
}

func decodeValue(data []byte) (v Value, err error) {
	r := field.Read(data)
	for r.Next() {
		if r.Number() > 5 {
			continue
		}
		r.Choose()
		switch r.Number() {
		case 1:
			v = Text(r.Text(MaxText))
		case 2:
			v = Double(r.Double())
		case 3:
			v = Bool(r.Bool())
		case 4:
			v = Int(r.Int64())
		case 5:
			v, err = decodeLocation(r.Bytes(MaxText))
			r.Within(err)
		}
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return v, nil
}

// decodeValues decodes the operands of a set: one or more values of the same type. left limits their number.
func decodeValues(data []byte, left int) (values []Value, err error) {
	r := field.Read(data)
	for r.Next() {
		if r.Number() > 5 {
			continue
		}
		r.Choose()
		number := r.Number()
		in := field.Read(r.Bytes(math.MaxInt))
		add := func(v Value) bool {
			values = append(values, v)
			return len(values) <= left
		}
		for in.Next() {
			if in.Number() != 1 {
				continue
			}
			switch number {
			case 1:
				add(Text(in.EachText(left, MaxText)))
			case 2:
				in.Numbers(protowire.Fixed64Type, func(v uint64) bool { return add(Double(math.Float64frombits(v))) })
			case 3:
				in.Numbers(protowire.VarintType, func(v uint64) bool { return v <= 1 && add(Bool(v == 1)) })
			case 4:
				in.Numbers(protowire.VarintType, func(v uint64) bool { return add(Int(v)) })
			case 5:
				place, err := decodeLocation(in.Each(left, MaxText))
				in.Within(err)
				add(place)
			}
		}
		r.Within(in.Err())
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%w: a set has no values", wire.ErrUndecodable)
	}
	return values, nil
}

// encodeValues encodes operands in the form that decodeValues decodes. All values must have the same type.
func encodeValues(values []Value) []byte {
	var in []byte
	for _, value := range values {
		switch v := value.(type) {
		case Text:
			in = field.AppendMember(in, 1, []byte(v))
		case Location:
			in = field.AppendMember(in, 1, v.encode())
		case Double:
			in = protowire.AppendFixed64(in, math.Float64bits(float64(v)))
		case Bool:
			in = protowire.AppendVarint(in, uint64(field.Int(bool(v))))
		case Int:
			in = protowire.AppendVarint(in, uint64(v))
		}
	}
	kind := values[0].Type()
	if kind != TypeString && kind != TypeLocation {
		in = field.AppendMember(nil, 1, in) // packed
	}
	return field.AppendMember(nil, memberOf[kind], in)
}

// order compares two values of the same ordered type, which is Text, Int or Double. ok is false for other values, and for NaN.
func order(a, b Value) (sign int, ok bool) {
	switch a := a.(type) {
	case Text:
		b, ok := b.(Text)
		return cmp.Compare(a, b), ok
	case Int:
		b, ok := b.(Int)
		return cmp.Compare(a, b), ok
	case Double:
		b, ok := b.(Double)
		return cmp.Compare(a, b), ok && !math.IsNaN(float64(a)) && !math.IsNaN(float64(b))
	}
	return 0, false
}

// earth is the radius of the earth in kilometres, with the value that the framework uses.
const earth = 6372.8

// To returns the distance to another place in kilometres, computed by the haversine formula.
func (v Location) To(other Location) float64 {
	lat, otherLat := radians(v.Lat), radians(other.Lat)
	sinLat := math.Sin((otherLat - lat) / 2)
	sinLon := math.Sin(radians(other.Lon-v.Lon) / 2)
	half := math.Sqrt(sinLat*sinLat + sinLon*sinLon*math.Cos(lat)*math.Cos(otherLat))
	return 2 * earth * math.Asin(min(half, 1)) // for an antipode, half may exceed 1 by a rounding error
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
