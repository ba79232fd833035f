package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// inside returns the bytes of the query or the description in a message of fipa.
func inside(tb testing.TB, name string, from int) []byte {
	tb.Helper()
	m, err := wire.DecodeMessage(aeavectors.Vector(tb, "../testdata/vectors.txt", "message/"+name))
	if err != nil {
		tb.Fatal(err)
	}
	return m.Content[from:]
}

// schema is the framework's schema of the query language. Proto3 encodes enumerations as integers.
const schema = `
	Model = 1*ConstraintExpr 2:DataModel
	Instance = 1:DataModel 2*KeyValue
	DataModel = 1:string 2*Attribute 3:string
	Attribute = 1:string 2:int32 3:bool 4:string
	KeyValue = 1:string 2:Value
	Value = 1|string 2|double 3|bool 4|int64 5|Location
	Location = 1:double 2:double
	ConstraintExpr = 1|Parts 2|Parts 3|Not 4|Constraint
	Parts = 1*ConstraintExpr
	Not = 1:ConstraintExpr
	Constraint = 1:string 2|Set 3|Range 4|Relation 5|Distance
	Relation = 1:int32 2:Value
	Range = 1|StringPair 2|IntegerPair 3|DoublePair 4|LocationPair
	StringPair = 1:string 2:string
	IntegerPair = 1:int64 2:int64
	DoublePair = 1:double 2:double
	LocationPair = 1:Location 2:Location
	Set = 1:int32 2:Values
	Values = 1|Strings 2|Doubles 3|Bools 4|Integers 5|Locations
	Strings = 1*string
	Doubles = 1*double
	Bools = 1*bool
	Integers = 1*int64
	Locations = 1*Location
	Distance = 1:Location 2:double
`

// FuzzDecodeQuery checks that a decoded query decodes to itself after encoding, and matches the same. The official library decodes the
// same query, and encodes it to the same bytes.
func FuzzDecodeQuery(f *testing.F) {
	f.Add(inside(f, "cfp", 6))
	f.Add(inside(f, "cfp-and-not-range", 6))
	f.Add(search.Query{Constraints: []search.Expr{near(1, 2, 3), in("tags", search.Bool(true))}, Model: &book.Model}.Encode())
	official := aeavectors.NewSchema(f, schema)
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := search.DecodeQuery(data)
		if err != nil {
			return
		}
		again, err := search.DecodeQuery(q.Encode())
		if err != nil || !cmp.Equal(q, again, sameNumbers) {
			t.Fatalf("%+v, %v, want %+v", again, err, q)
		}
		if q.Matches(offer) != again.Matches(offer) {
			t.Errorf("%+v and its decoded copy match differently", q)
		}
		official.Writes(t, "Model", q.Encode())
		if same, err := search.DecodeQuery(official.Normal(t, "Model", data)); err != nil || !cmp.Equal(q, same, sameNumbers) {
			t.Errorf("%+v, %v, the official library decodes %+v", q, err, same)
		}
	})
}

// FuzzDecodeDescription is FuzzDecodeQuery for descriptions.
func FuzzDecodeDescription(f *testing.F) {
	f.Add(inside(f, "propose", 9))
	f.Add(book.Encode())
	official := aeavectors.NewSchema(f, schema)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := search.DecodeDescription(data)
		if err != nil {
			return
		}
		if again, err := search.DecodeDescription(d.Encode()); err != nil || !cmp.Equal(d, again, sameNumbers) {
			t.Errorf("%+v, %v, want %+v", again, err, d)
		}
		official.Writes(t, "Instance", d.Encode())
		if same, err := search.DecodeDescription(official.Normal(t, "Instance", data)); err != nil || !cmp.Equal(d, same, sameNumbers) {
			t.Errorf("%+v, %v, the official library decodes %+v", d, err, same)
		}
	})
}
