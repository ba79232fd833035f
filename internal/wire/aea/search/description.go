package search

import (
	"fmt"
	"slices"
	"strings"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// A DataModel lists the attributes of one kind of thing.
type DataModel struct {
	Name        string
	Attributes  []Attribute
	Description string
}

// An Attribute is one property of a thing.
type Attribute struct {
	Name        string
	Type        Type
	Required    bool
	Description string
}

// A Description describes one thing by its model and the values of its attributes. On the wire it is called an Instance.
type Description struct {
	Model  DataModel
	Values []KeyValue
}

// A KeyValue is the value of the attribute whose name is Key.
type KeyValue struct {
	Key   string
	Value Value
}

// Describe returns a description with the given values, in the given order. Its model requires an attribute for each value. Keys must be
// unique.
func Describe(model string, values ...KeyValue) Description {
	d := Description{Model: DataModel{Name: model}, Values: values}
	for _, v := range values {
		d.Model.Attributes = append(d.Model.Attributes, Attribute{Name: v.Key, Type: v.Value.Type(), Required: true})
	}
	slices.SortFunc(d.Model.Attributes, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// Value returns the value of an attribute, or nil if the description has no value for it.
func (d Description) Value(key string) Value {
	for _, v := range d.Values {
		if v.Key == key {
			return v.Value
		}
	}
	return nil
}

// Attributes returns the values in the form that Query.Matches expects.
func (d Description) Attributes() Attributes {
	a := Attributes{}
	for _, v := range d.Values {
		a[v.Key] = append(a[v.Key], v.Value)
	}
	return a
}

// DecodeDescription decodes a description. Empty data means an empty description. Like agents, it rejects a repeated attribute, a required
// attribute without a value, and a repeated value. It also rejects a value that is not in the model or has a different type there. The
// error wraps wire.ErrUndecodable.
func DecodeDescription(data []byte) (Description, error) {
	var d Description
	if err := field.Decode(data, d.fields()...); err != nil {
		return Description{}, fmt.Errorf("description: %w", err)
	}
	if why := d.wrong(); why != "" {
		return Description{}, fmt.Errorf("%w: description: %s", wire.ErrUndecodable, why)
	}
	return d, nil
}

// wrong describes how the values violate the model. It returns "" if they do not.
func (d Description) wrong() string {
	missing := map[string]Attribute{}
	for _, a := range d.Model.Attributes {
		missing[a.Name] = a
	}
	for _, v := range d.Values {
		a, known := missing[v.Key]
		switch {
		case v.Value == nil:
			return "an attribute has no value"
		case !known:
			return "a value is repeated or not in the model"
		case a.Type != v.Value.Type():
			return "a value does not have the type in the model"
		}
		delete(missing, v.Key)
	}
	for _, a := range missing {
		if a.Required {
			return "a required attribute has no value"
		}
	}
	return ""
}

func (v *KeyValue) fields() []field.Field {
	return []field.Field{field.TextOf(1, &v.Key, MaxName), valueOf(2, &v.Value)}
}

func decodeModel(data []byte) (DataModel, error) {
	var m DataModel
	if err := field.Decode(data, m.fields()...); err != nil {
		return DataModel{}, err
	}
	if len(m.types()) < len(m.Attributes) {
		return DataModel{}, fmt.Errorf("%w: an attribute occurs twice", wire.ErrUndecodable)
	}
	return m, nil
}

func (m *DataModel) fields() []field.Field {
	return []field.Field{
		field.TextOf(1, &m.Name, MaxName), field.ListOf(2, &m.Attributes, MaxAttributes, wire.MaxEnvelope, (*Attribute).fields),
		field.TextOf(3, &m.Description, MaxText),
	}
}

func (a *Attribute) fields() []field.Field {
	return []field.Field{
		field.TextOf(1, &a.Name, MaxName), field.EnumOf(2, &a.Type, TypeLocation), field.BoolOf(3, &a.Required),
		field.TextOf(4, &a.Description, MaxText),
	}
}

func (d *Description) fields() []field.Field {
	return []field.Field{
		field.DecodedOf(1, &d.Model, wire.MaxEnvelope, decodeModel, func(out []byte) []byte {
			return field.AppendMember(out, 1, d.Model.encode())
		}),
		field.ListOf(2, &d.Values, MaxAttributes, wire.MaxEnvelope, (*KeyValue).fields),
	}
}

// Encode returns the bytes of the description. It does not check any limits.
func (d Description) Encode() []byte {
	if d.Model.Name == "" && d.Model.Description == "" && len(d.Model.Attributes)+len(d.Values) == 0 {
		return nil
	}
	return field.Encode(d.fields()...)
}

func (m DataModel) encode() []byte { return field.Encode(m.fields()...) }
