package search_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// offer has the attributes that the queries of these tests match.
var offer = search.Attributes{
	"name":  {search.Text("books")},
	"price": {search.Int(5)},
	"rate":  {search.Double(0.5)},
	"fresh": {search.Bool(true)},
	"place": {search.Location{Lon: 13.405, Lat: 52.52}}, // Berlin
	"tags":  {search.Text("shop"), search.Text("search")},
	"mixed": {search.Text("a"), search.Int(1)},
	"nan":   {search.Double(math.NaN())},
	"empty": {},
}

func relation(name string, operator search.Operator, value search.Value) search.Expr {
	return search.Constraint{Attribute: name, Test: search.Relation{Operator: operator, Value: value}}
}

func in(name string, values ...search.Value) search.Expr {
	return search.Constraint{Attribute: name, Test: search.Set{Values: values}}
}

func notIn(name string, values ...search.Value) search.Expr {
	return search.Constraint{Attribute: name, Test: search.Set{Not: true, Values: values}}
}

func within(name string, first, last search.Value) search.Expr {
	return search.Constraint{Attribute: name, Test: search.Range{First: first, Last: last}}
}

func near(lon, lat, kilometres float64) search.Expr {
	return search.Constraint{Attribute: "place", Test: search.Distance{Center: search.Location{Lon: lon, Lat: lat}, Kilometres: kilometres}}
}

func TestQueriesMatch(t *testing.T) {
	official := aeavectors.NewSchema(t, schema)
	yes, no := relation("price", search.Equal, search.Int(5)), relation("price", search.Equal, search.Int(6))
	for _, row := range []struct {
		name string
		expr search.Expr
		want bool
	}{
		{"equal", yes, true},
		{"equal to another", no, false},
		{"not equal", relation("price", search.NotEqual, search.Int(6)), true},
		{"not equal to itself", relation("price", search.NotEqual, search.Int(5)), false},
		{"less", relation("price", search.Less, search.Int(6)), true},
		{"less than itself", relation("price", search.Less, search.Int(5)), false},
		{"at most itself", relation("price", search.LessOrEqual, search.Int(5)), true},
		{"at most less", relation("price", search.LessOrEqual, search.Int(4)), false},
		{"greater", relation("price", search.Greater, search.Int(4)), true},
		{"greater than itself", relation("price", search.Greater, search.Int(5)), false},
		{"at least itself", relation("price", search.GreaterOrEqual, search.Int(5)), true},
		{"at least more", relation("price", search.GreaterOrEqual, search.Int(6)), false},
		{"text by bytes", relation("name", search.Less, search.Text("c")), true},
		{"capitals before letters", relation("name", search.Greater, search.Text("Z")), true},
		{"number of another type", relation("price", search.Equal, search.Double(5)), false},
		{"number of another type, negative", relation("price", search.NotEqual, search.Double(6)), false},
		{"an integer under a double", relation("rate", search.Less, search.Int(1)), false},
		{"boolean", relation("fresh", search.Equal, search.Bool(true)), true},
		{"no order of booleans", relation("fresh", search.GreaterOrEqual, search.Bool(false)), false},
		{"location", relation("place", search.Equal, search.Location{Lon: 13.405, Lat: 52.52}), true},
		{"no order of locations", relation("place", search.GreaterOrEqual, search.Location{}), false},
		{"unknown attribute", relation("other", search.Equal, search.Int(5)), false},
		{"unknown attribute, negative", relation("other", search.NotEqual, search.Int(5)), false},
		{"attribute without values", relation("empty", search.NotEqual, search.Int(5)), false},
		{"not around an unknown attribute", search.Not{Expr: relation("other", search.Equal, search.Int(5))}, true},
		{"no number", relation("nan", search.LessOrEqual, search.Double(1)), false},
		{"operand that is not a number", relation("rate", search.GreaterOrEqual, search.Double(math.NaN())), false},
		{"in", in("price", search.Int(4), search.Int(5)), true},
		{"in others", in("price", search.Int(4)), false},
		{"in another type", in("price", search.Text("5")), false},
		{"not in", notIn("price", search.Int(4)), true},
		{"not in itself", notIn("price", search.Int(5)), false},
		{"not in another type", notIn("price", search.Text("4")), false},
		{"within, at its beginning", within("price", search.Int(5), search.Int(9)), true},
		{"within, at its end", within("price", search.Int(1), search.Int(5)), true},
		{"before a range", within("price", search.Int(6), search.Int(9)), false},
		{"behind a range", within("price", search.Int(1), search.Int(4)), false},
		{"range that is turned", within("price", search.Int(9), search.Int(1)), false},
		{"range of text", within("name", search.Text("a"), search.Text("c")), true},
		{"range of another type", within("price", search.Double(1), search.Double(9)), false},
		{"range to no number", within("rate", search.Double(0), search.Double(math.NaN())), false},
		{"range of locations", within("place", search.Location{}, search.Location{Lon: 90, Lat: 90}), false},
		{"near", near(13.4, 52.5, 5), true},
		{"far", near(2.35, 48.86, 800), false}, // Paris: 878 km
		{"far, but in reach", near(2.35, 48.86, 900), true},
		{"on the other side of the earth", near(13.405-180, -52.52, 20_100), true},
		{"half a circle is not reached", near(13.405-180, -52.52, 20_000), false},
		{"exactly there", near(13.405, 52.52, 0), true},
		{"distance below 0", near(13.405, 52.52, -1), false},
		{"distance that is not a number", near(13.405, 52.52, math.NaN()), false},
		{"on another attribute", search.Constraint{Attribute: "price", Test: search.Distance{Kilometres: 1e9}}, false},
		{"one tag", relation("tags", search.Equal, search.Text("search")), true},
		{"no tag", relation("tags", search.Equal, search.Text("books")), false},
		{"a tag of a set", in("tags", search.Text("books"), search.Text("shop")), true},
		{"all tags differ", relation("tags", search.NotEqual, search.Text("books")), true},
		{"one tag does not differ", relation("tags", search.NotEqual, search.Text("shop")), false},
		{"no tag of a set", notIn("tags", search.Text("books")), true},
		{"one tag of a set", notIn("tags", search.Text("books"), search.Text("shop")), false},
		{"values of two types", relation("mixed", search.Equal, search.Int(1)), true},
		{"values of two types, negative", relation("mixed", search.NotEqual, search.Int(2)), false},
		{"and", search.And{yes, yes}, true},
		{"and with one that fails", search.And{yes, no}, false},
		{"or", search.Or{no, yes}, true},
		{"or of none", search.Or{no, no}, false},
		{"not", search.Not{Expr: no}, true},
		{"not of what holds", search.Not{Expr: yes}, false},
		{"deep", search.Or{no, search.And{yes, search.Not{Expr: search.Or{no, search.And{yes, no}}}}}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := search.Query{Constraints: []search.Expr{row.expr}}
			if got := q.Matches(offer); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
			official.Writes(t, "Model", q.Encode())
			again, err := search.DecodeQuery(q.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(q, again, sameNumbers); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
	if !(search.Query{}).Matches(nil) {
		t.Error("the empty query does not match")
	}
	if (search.Query{Constraints: []search.Expr{yes, no}}).Matches(offer) {
		t.Error("a query matches with one of two constraints")
	}
}

// sameNumbers compares numbers by their bits, so that NaN equals itself.
var sameNumbers = cmp.Options{
	cmp.Comparer(func(a, b search.Double) bool { return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
}

func TestQueryMatchesModel(t *testing.T) {
	model := search.DataModel{Name: "book", Description: "a book", Attributes: []search.Attribute{
		{Name: "name", Type: search.TypeString, Description: "its name"},
		{Name: "place", Type: search.TypeLocation},
		{Name: "price", Type: search.TypeInt, Required: true},
	}}
	for name, row := range map[string]struct {
		expr search.Expr
		fits bool
	}{
		"all":              {search.And{in("name", search.Text("a")), search.Or{near(1, 1, 1), within("price", search.Int(1), search.Int(2))}}, true},
		"unknown":          {relation("other", search.Equal, search.Int(1)), false},
		"another type":     {relation("price", search.Equal, search.Double(1)), false},
		"unknown, in not":  {search.Not{Expr: relation("other", search.Equal, search.Int(1))}, false},
		"unknown, in or":   {search.Or{in("name", search.Text("a")), relation("other", search.Equal, search.Int(1))}, false},
		"range of another": {within("name", search.Int(1), search.Int(2)), false},
		"set of another":   {notIn("price", search.Text("a")), false},
	} {
		q := search.Query{Constraints: []search.Expr{row.expr}, Model: &model}
		got, err := search.DecodeQuery(q.Encode())
		if !row.fits {
			if !errors.Is(err, wire.ErrUndecodable) {
				t.Errorf("%s: %v, want %v", name, err, wire.ErrUndecodable)
			}
			continue
		}
		if diff := cmp.Diff(q, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s; want nil, an empty string", name, err, diff)
		}
	}
}

// member returns a field of bytes.
func member(number int, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, protowire.Number(number), protowire.BytesType), bytes.Join(parts, nil))
}

func TestDecodeQueryErrors(t *testing.T) {
	one := relation("a", search.Equal, search.Int(1))
	encode := func(e search.Expr) []byte { return search.Query{Constraints: []search.Expr{e}}.Encode() }
	nest := func(depth int) search.Expr {
		e := one
		for range depth {
			e = search.Not{Expr: e}
		}
		return e
	}
	many := func(n int) []search.Value {
		values := make([]search.Value, n)
		for i := range values {
			values[i] = search.Int(i)
		}
		return values
	}
	deepest := member(4, member(1, []byte("a")))
	for range 1000 {
		deepest = member(3, member(1, deepest))
	}
	for name, data := range map[string][]byte{
		"and of one part":            encode(search.And{one}),
		"or of no parts":             encode(search.Or{}),
		"not of two parts":           member(1, member(3, member(1, member(4)), member(1, member(4)))),
		"not of nothing":             member(1, member(3)),
		"nothing":                    member(1),
		"two kinds in one":           member(1, member(3, encode(one)), member(4)),
		"constraint without test":    member(1, member(4, member(1, []byte("a")))),
		"relation without value":     member(1, member(4, member(1, []byte("a")), member(4))),
		"value of no kind":           member(1, member(4, member(1, []byte("a")), member(4, member(2)))),
		"set without values":         member(1, member(4, member(1, []byte("a")), member(2))),
		"set of no kind":             member(1, member(4, member(1, []byte("a")), member(2, member(2)))),
		"set of no values":           member(1, member(4, member(1, []byte("a")), member(2, member(2, member(4))))),
		"set of two kinds":           member(1, member(4, member(1, []byte("a")), member(2, member(2, member(1, member(1)), member(4, member(1, []byte{1})))))),
		"set of booleans above 1":    member(1, member(4, member(1, []byte("a")), member(2, member(2, member(3, member(1, []byte{2})))))),
		"set of numbers cut off":     member(1, member(4, member(1, []byte("a")), member(2, member(2, member(2, member(1, []byte{1, 2, 3})))))),
		"set of text, not UTF-8":     member(1, member(4, member(1, []byte("a")), member(2, member(2, member(1, member(1, []byte{0xff})))))),
		"range of no kind":           member(1, member(4, member(1, []byte("a")), member(3))),
		"range of two kinds":         member(1, member(4, member(1, []byte("a")), member(3, member(1), member(2)))),
		"unknown operator":           member(1, member(4, member(1, []byte("a")), member(4, []byte{8, 6}, member(2, []byte{0x20, 1})))),
		"name of no UTF-8":           encode(relation("\xff", search.Equal, search.Int(1))),
		"long name":                  encode(relation(strings.Repeat("n", search.MaxName+1), search.Equal, search.Int(1))),
		"long text":                  encode(relation("a", search.Equal, search.Text(strings.Repeat("n", search.MaxText+1)))),
		"too deep":                   encode(nest(search.MaxDepth + 1)),
		"far too deep":               member(1, deepest),
		"too many constraints":       search.Query{Constraints: repeat(one, search.MaxNodes+1)}.Encode(),
		"too many parts":             encode(search.Or(repeat(one, search.MaxNodes))),
		"too many parts in all":      encode(search.Or{search.And(repeat(one, 200)), search.And(repeat(one, 200))}),
		"too many values":            encode(in("a", many(search.MaxValues+1)...)),
		"too many values in all":     encode(search.Or{in("a", many(600)...), in("a", many(600)...)}),
		"attribute twice in a model": member(2, member(2, member(1, []byte("a"))), member(2, member(1, []byte("a")))),
		"unknown type":               member(2, member(2, member(1, []byte("a")), []byte{0x10, 5})),
		"two models":                 member(2, member(2), member(2)),
		"constraints as integer":     {0x08, 0x01},
		"a pickle of early agents":   []byte("\x80\x04\x95\x10\x00"),
	} {
		if q, err := search.DecodeQuery(data); !errors.Is(err, wire.ErrUndecodable) || q.Constraints != nil {
			t.Errorf("%s: got %v, %v; want %v and Constraints nil", name, q, err, wire.ErrUndecodable)
		}
	}
	for name, e := range map[string]search.Expr{
		"deepest":          nest(search.MaxDepth),
		"most parts":       search.Or(repeat(one, search.MaxNodes-1)),
		"most values":      in("a", many(search.MaxValues)...),
		"longest text":     relation("a", search.Equal, search.Text(strings.Repeat("n", search.MaxText))),
		"most in two sets": search.Or{in("a", many(500)...), notIn("a", many(500)...)},
	} {
		if _, err := search.DecodeQuery(encode(e)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A query decodes the same with packed and unpacked numbers, and with unknown fields.
func TestQueryEncodings(t *testing.T) {
	want := search.Query{Constraints: []search.Expr{in("a", search.Int(1), search.Int(2), search.Int(3))}}
	values := member(4, []byte{8, 1}, member(1, []byte{2, 3}), []byte{0x28, 9})
	unpacked := member(1, member(4, member(1, []byte("a")), member(2, member(2, values))), []byte{0x48, 1})
	got, err := search.DecodeQuery(append(unpacked, 0x58, 0x07))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got %v, %q; want nil, an empty string", err, diff)
	}
}

func repeat(e search.Expr, n int) []search.Expr {
	out := make([]search.Expr, n)
	for i := range out {
		out[i] = e
	}
	return out
}
