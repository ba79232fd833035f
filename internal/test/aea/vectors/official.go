package aeavectors

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

// A Schema decodes and encodes messages with the official library of Protocol Buffers, to compare our own decoders with it.
type Schema struct{ file protoreflect.FileDescriptor }

// kinds has the scalar types of a schema.
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
// where : marks a single field, * a repeated one, | a member of the message's oneof, and % a map with text keys. A type that is not
// scalar is a message. Enumerations are int32.
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

// asMap turns a field of the named message into a map, and returns the type of its entries.
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

// Normal decodes a message with the official library and returns its encoding without unknown fields. It ends the test if the library
// cannot decode the message.
func (s Schema) Normal(tb testing.TB, message string, data []byte) []byte {
	tb.Helper()
	m := dynamicpb.NewMessage(s.file.Messages().ByName(protoreflect.Name(message)))
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
		tb.Fatalf("the official library does not decode %x: %v", data, err)
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Writes fails the test if the official library encodes the message in data as other bytes.
func (s Schema) Writes(tb testing.TB, message string, data []byte) {
	tb.Helper()
	if want := s.Normal(tb, message, data); !bytes.Equal(data, want) {
		tb.Errorf("%x, the official library encodes %x", data, want)
	}
}
