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
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			model, err := decodeModel(r.Bytes(wire.MaxEnvelope))
			r.Within(err)
			d.Model = model
		case 2:
			value, err := decodeKeyValue(r.Each(MaxAttributes, wire.MaxEnvelope))
			r.Within(err)
			d.Values = append(d.Values, value)
		}
	}
	if err := r.Err(); err != nil {
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

func decodeKeyValue(data []byte) (KeyValue, error) {
	var v KeyValue
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			v.Key = r.Text(MaxName)
		case 2:
			value, err := decodeValue(r.Bytes(wire.MaxEnvelope))
			r.Within(err)
			v.Value = value
		}
	}
	if err := r.Err(); err != nil {
		return KeyValue{}, err
	}
	if v.Value == nil {
		return KeyValue{}, fmt.Errorf("%w: an attribute has no value", wire.ErrUndecodable)
	}
	return v, nil
}

func decodeModel(data []byte) (DataModel, error) {
	var m DataModel
	names := map[string]bool{}
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			m.Name = r.Text(MaxName)
		case 2:
			a, err := decodeAttribute(r.Each(MaxAttributes, wire.MaxEnvelope))
			r.Within(err)
			if names[a.Name] {
				r.Fail("an attribute occurs twice")
			}
			names[a.Name] = true
			m.Attributes = append(m.Attributes, a)
		case 3:
			m.Description = r.Text(MaxText)
		}
	}
	return m, r.Err()
}

func decodeAttribute(data []byte) (Attribute, error) {
	var a Attribute
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			a.Name = r.Text(MaxName)
		case 2:
			a.Type = Type(r.Enum(int(TypeLocation)))
		case 3:
			a.Required = r.Bool()
		case 4:
			a.Description = r.Text(MaxText)
		}
	}
	return a, r.Err()
}

// Encode returns the bytes of the description. It does not check any limits.
func (d Description) Encode() []byte {
	if d.Model.Name == "" && d.Model.Description == "" && len(d.Model.Attributes)+len(d.Values) == 0 {
		return nil
	}
	out := field.AppendMember(nil, 1, d.Model.encode())
	for _, v := range d.Values {
		out = field.AppendMember(out, 2, field.AppendMember(field.AppendText(nil, 1, v.Key), 2, v.Value.append(nil)))
	}
	return out
}

func (m DataModel) encode() []byte {
	out := field.AppendText(nil, 1, m.Name)
	for _, a := range m.Attributes {
		one := field.AppendInt(field.AppendText(nil, 1, a.Name), 2, int64(a.Type))
		one = field.AppendText(field.AppendInt(one, 3, field.Int(a.Required)), 4, a.Description)
		out = field.AppendMember(out, 2, one)
	}
	return field.AppendText(out, 3, m.Description)
}
