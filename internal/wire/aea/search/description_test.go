package search_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

var book = search.Describe("book",
	search.KeyValue{Key: "price", Value: search.Int(5)},
	search.KeyValue{Key: "name", Value: search.Text("")},
	search.KeyValue{Key: "rate", Value: search.Double(0)},
	search.KeyValue{Key: "fresh", Value: search.Bool(false)},
	search.KeyValue{Key: "place", Value: search.Location{}},
)

func TestEncodeDescription(t *testing.T) {
	got, err := search.DecodeDescription(book.Encode())
	if diff := cmp.Diff(book, got); err != nil || diff != "" {
		t.Fatalf("got %v, %q; want nil, an empty string", err, diff)
	}
	if got.Value("price") != search.Int(5) || got.Value("name") != search.Text("") || got.Value("other") != nil {
		t.Error(got.Values)
	}
	if !(search.Query{Constraints: []search.Expr{relation("price", search.Equal, search.Int(5))}}).Matches(got.Attributes()) {
		t.Error("a query does not match the description")
	}
	empty, err := search.DecodeDescription(nil)
	if err != nil || len(empty.Values) != 0 || len(empty.Encode()) != 0 {
		t.Error(empty, err)
	}
}

func TestDecodeDescription(t *testing.T) {
	for name, change := range map[string]func(*search.Description){
		"optional attribute without value": func(d *search.Description) {
			d.Model.Attributes = append(d.Model.Attributes, search.Attribute{Name: "size", Type: search.TypeInt, Description: "in pages"})
		},
		"model with a description": func(d *search.Description) { d.Model.Description = "a book" },
		"model without values":     func(d *search.Description) { d.Values, d.Model.Attributes = nil, nil },
	} {
		d := clone(book)
		change(&d)
		got, err := search.DecodeDescription(d.Encode())
		if diff := cmp.Diff(d, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s; want nil, an empty string", name, err, diff)
		}
	}
}

func TestDecodeDescriptionErrors(t *testing.T) {
	for name, change := range map[string]func(*search.Description){
		"no value for a required attribute": func(d *search.Description) { d.Values = d.Values[1:] },
		"value outside of the model": func(d *search.Description) {
			d.Values = append(d.Values, search.KeyValue{Key: "other", Value: search.Int(1)})
		},
		"integer under a double": func(d *search.Description) { d.Values[2].Value = search.Int(0) },
		"value twice":            func(d *search.Description) { d.Values = append(d.Values, d.Values[0]) },
		"attribute twice": func(d *search.Description) {
			d.Model.Attributes = append(d.Model.Attributes, d.Model.Attributes[0])
		},
		"no model": func(d *search.Description) { d.Model = search.DataModel{} },
		"too many values": func(d *search.Description) {
			for i := range search.MaxAttributes {
				key := strconv.Itoa(i)
				d.Values = append(d.Values, search.KeyValue{Key: key, Value: search.Int(i)})
				d.Model.Attributes = append(d.Model.Attributes, search.Attribute{Name: key, Type: search.TypeInt})
			}
		},
	} {
		d := clone(book)
		change(&d)
		if got, err := search.DecodeDescription(d.Encode()); !errors.Is(err, wire.ErrUndecodable) || got.Values != nil {
			t.Errorf("%s: got %v, %v; want %v and Values nil", name, got, err, wire.ErrUndecodable)
		}
	}
	for name, data := range map[string][]byte{
		"attribute without value": member(2, member(1, []byte("a"))),
		"value of no kind":        member(2, member(1, []byte("a")), member(2)),
		"value of two kinds":      member(2, member(1, []byte("a")), member(2, member(1), []byte{0x20, 1})),
		"boolean above 1":         member(2, member(1, []byte("a")), member(2, []byte{0x18, 2})),
		"double as text":          member(2, member(1, []byte("a")), member(2, member(2))),
		"cut off":                 {0x0a, 0x05, 0x0a},
	} {
		if got, err := search.DecodeDescription(data); !errors.Is(err, wire.ErrUndecodable) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, wire.ErrUndecodable)
		}
	}
}

// clone returns a description that shares nothing with d.
func clone(d search.Description) search.Description {
	return search.Describe(d.Model.Name, append([]search.KeyValue(nil), d.Values...)...)
}
