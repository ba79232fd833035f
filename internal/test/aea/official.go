package aeatest

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A Schema is read by the official library of Protocol Buffers, with which the readers here are compared.
type Schema struct{ file protoreflect.FileDescriptor }

// kinds are the scalar types of a schema.
var kinds = map[string]descriptorpb.FieldDescriptorProto_Type{
	"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
	"double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
}

// NewSchema makes a schema of lines such as
//
//	Value = 1|string 2|double 5|Location
//	Location = 1:double 2:double
//
// where a field has : when it comes once, * when it is repeated, | as a member of the message's oneof, and % when it is a map
// from text. What is no scalar type is a message. Enumerations are int32.
func NewSchema(tb testing.TB, lines string) Schema {
	tb.Helper()
	file := &descriptorpb.FileDescriptorProto{
		Name: new(tb.Name() + ".proto"), Package: new("aea"), Syntax: new("proto3"),
	}
	for line := range strings.Lines(lines) {
		name, fields, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		message := &descriptorpb.DescriptorProto{Name: new(name)}
		for word := range strings.FieldsSeq(fields) {
			at := strings.IndexAny(word, ":*|%")
			if at < 0 {
				tb.Fatal(word)
			}
			field := fieldOf(tb, word[:at], word[at+1:])
			switch word[at] {
			case '*':
				field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			case '|':
				field.OneofIndex = new(int32(0))
				message.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: new("one")}}
			}
			if word[at] == '%' {
				message.NestedType = append(message.NestedType, asMap(name, field))
			}
			message.Field = append(message.Field, field)
		}
		file.MessageType = append(file.MessageType, message)
	}
	made, err := protodesc.NewFile(file, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return Schema{made}
}

// asMap makes a map of a field of the message with this name, and returns the type of its entries.
func asMap(name string, field *descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
	entry := "F" + strings.TrimPrefix(field.GetName(), "f") + "Entry"
	one := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: new(name), Number: new(number), Type: kind.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	value := field.GetType()
	field.Label, field.Type = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	field.TypeName = new(".aea." + name + "." + entry)
	return &descriptorpb.DescriptorProto{
		Name: new(entry), Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
		Field: []*descriptorpb.FieldDescriptorProto{one("key", 1, kinds["string"]), one("value", 2, value)},
	}
}

func fieldOf(tb testing.TB, digits, kind string) *descriptorpb.FieldDescriptorProto {
	tb.Helper()
	number, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		tb.Fatal(err)
	}
	field := &descriptorpb.FieldDescriptorProto{
		Name: new("f" + digits), Number: new(int32(number)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if scalar, ok := kinds[kind]; ok {
		field.Type = scalar.Enum()
	} else {
		field.Type, field.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new(".aea."+kind)
	}
	return field
}

// Normal returns the bytes that the official library writes for a message that it has read, without unknown
// fields. A message that it cannot read fails.
func (s Schema) Normal(tb testing.TB, message string, data []byte) []byte {
	tb.Helper()
	m := dynamicpb.NewMessage(s.file.Messages().ByName(protoreflect.Name(message)))
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
		tb.Fatalf("the official library does not read %x: %v", data, err)
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Writes fails where the official library would write a message otherwise than data.
func (s Schema) Writes(tb testing.TB, message string, data []byte) {
	tb.Helper()
	if want := s.Normal(tb, message, data); !bytes.Equal(data, want) {
		tb.Errorf("%x, the official library writes %x", data, want)
	}
}
