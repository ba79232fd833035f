package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea/aeatest"
	"github.com/uimgate/uimgate/bindings/aea/search"
	"github.com/uimgate/uimgate/bindings/aea/wire"
)

// inside returns the bytes inside of a message of fipa: those of the query or the description.
func inside(tb testing.TB, name string, from int) []byte {
	tb.Helper()
	m, err := wire.DecodeMessage(aeatest.Vector(tb, "../testdata/vectors.txt", "message/"+name))
	if err != nil {
		tb.Fatal(err)
	}
	return m.Content[from:]
}

// FuzzDecodeQuery: what is read is read again from what it is written as, and answers alike.
func FuzzDecodeQuery(f *testing.F) {
	f.Add(inside(f, "cfp", 6))
	f.Add(inside(f, "cfp-and-not-range", 6))
	f.Add(search.Query{Constraints: []search.Expr{near(1, 2, 3), in("tags", search.Bool(true))}, Model: &book.Model}.Encode())
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
			t.Errorf("%+v answers in two ways", q)
		}
	})
}

// FuzzDecodeDescription: as with queries.
func FuzzDecodeDescription(f *testing.F) {
	f.Add(inside(f, "propose", 9))
	f.Add(book.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := search.DecodeDescription(data)
		if err != nil {
			return
		}
		if again, err := search.DecodeDescription(d.Encode()); err != nil || !cmp.Equal(d, again, sameNumbers) {
			t.Errorf("%+v, %v, want %+v", again, err, d)
		}
	})
}
