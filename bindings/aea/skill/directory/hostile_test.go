package directory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// tagged returns a description of an intent with n tags.
func tagged(number, n int) search.Description {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf("t%d", i)
	}
	return search.Describe("uim_intent", search.KeyValue{Key: "number", Value: search.Int(number)},
		search.KeyValue{Key: "tags", Value: search.Text(strings.Join(tags, ","))})
}

// TestExpensiveSearches has one agent register as many tags as it may, and another search with as many operands as a query may have. The
// directory refuses the search instead of making millions of comparisons, and still replies to other searches.
func TestExpensiveSearches(t *testing.T) {
	t.Parallel()
	n := opened(t)
	a, b := n.agent(t, 2), n.agent(t, 3)
	if m := ask(t, a, aeatest.Register(tagged(0, 65))); m.Performative != protocol.OEFError {
		t.Errorf("65 tags: got %+v, want an error", m)
	}
	for i := range 64 {
		if m := ask(t, a, aeatest.Register(tagged(i, 64))); m.Performative != protocol.OEFSuccess {
			t.Fatalf("description %d: got %+v", i, m)
		}
	}
	of := func(e search.Expr) protocol.OEFMessage {
		return protocol.OEFMessage{Performative: protocol.OEFSearchServices, Query: search.Query{Constraints: []search.Expr{e}}.Encode()}
	}
	every := search.Set{}
	for i := range search.MaxValues {
		every.Values = append(every.Values, search.Text(fmt.Sprintf("x%d", i)))
	}
	m := ask(t, b, of(search.Not{Expr: search.Not{Expr: search.Constraint{Attribute: "tags", Test: every}}}))
	if m.Performative != protocol.OEFError || m.Operation != protocol.OEFOperationSearch {
		t.Errorf("an expensive search: got %+v, want an error", m)
	}
	m = ask(t, b, of(search.Constraint{Attribute: "tags", Test: search.Relation{Value: search.Text("t63")}}))
	if len(m.Agents) != 1 || m.Agents[0] != a.Address() {
		t.Errorf("got %+v, want the agent", m)
	}
}

// TestWeightOfRegistrations checks that short descriptions count as the memory that they take, with and without a profile, and that
// nothing is counted after they have been taken back.
func TestWeightOfRegistrations(t *testing.T) {
	t.Parallel()
	n := opened(t)
	a := n.agent(t, 2)
	status := func() directory.Status {
		state, _ := n.Resources().State(directory.ID)
		s, _ := state.(directory.Status)
		return s
	}
	piece := search.Describe("personality_agent", search.KeyValue{Key: "piece", Value: search.Text("genus")},
		search.KeyValue{Key: "value", Value: search.Text("data")})
	for _, d := range []search.Description{tagged(1, 1), piece, tagged(2, 1), piece, tagged(2, 1)} {
		if m := ask(t, a, aeatest.Register(d)); m.Performative != protocol.OEFSuccess {
			t.Fatalf("got %+v", m)
		}
	}
	if s := status(); s.Bytes != 3*512 || s.Descriptions != 2 || s.Agents != 1 {
		t.Errorf("got %+v, want 3 descriptions that count as 512 bytes", s)
	}
	for _, d := range []search.Description{tagged(1, 1), tagged(2, 1), piece} {
		if m := ask(t, a, aeatest.Unregister(d)); m.Performative != protocol.OEFSuccess {
			t.Fatalf("got %+v", m)
		}
	}
	if s := status(); s != (directory.Status{}) {
		t.Errorf("got %+v, want nothing", s)
	}
}
