package evidence_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
)

// A book writes the chain of an account.
type book struct {
	entries []evidence.Entry
	leaves  []evidence.Hash
	sums    evidence.Sums
}

var own = evidence.Account{Agent: "my-agent", Currency: "EUR"}

func (b *book) add(e evidence.Entry) {
	e.Issuer, e.Account, e.At = "shop.example", own, moment
	if n := len(b.entries); n > 0 {
		e.K = b.entries[n-1].K + 1
		e.Prev = b.leaves[n-1]
		e.Epoch = max(e.Epoch, b.entries[n-1].Epoch)
	}
	b.entries, b.leaves = append(b.entries, e), append(b.leaves, evidence.LeafHash(e.Append(nil)))
}

func (b *book) charge(id, from, to string, nano int64) {
	b.add(evidence.Entry{Kind: evidence.KindCharge, ID: id, From: from, To: to, Amount: amount(nano), Request: digest})
	for _, move := range []struct {
		state string
		sign  int64
	}{{from, -1}, {to, 1}} {
		switch move.state {
		case evidence.StateHeld:
			b.sums.Held.Nano += move.sign * nano
		case evidence.StateUnresolved:
			b.sums.Held.Nano += move.sign * nano
			b.sums.Unresolved.Nano += move.sign * nano
		case evidence.StateCaptured:
			b.sums.Captured.Nano += move.sign * nano
		}
	}
}

// carry replaces the first n entries; sums is the position after them.
func (b *book) carry(n int, sums evidence.Sums) {
	b.add(evidence.Entry{
		Kind: evidence.KindCarry, Salt: []byte("salt"), Sums: &sums, Through: &evidence.Through{K: b.entries[n-1].K, Hash: b.leaves[n-1]},
	})
}

// usual returns a chain with a top-up and n calls, some of which overlap.
func usual(n int) *book {
	b := &book{}
	zero := money.Amount{Currency: "EUR"}
	b.sums = evidence.Sums{ToppedUp: zero, Held: zero, Unresolved: zero, Captured: zero}
	b.add(evidence.Entry{Kind: evidence.KindTopUp, Amount: amount(1000), Salt: []byte("salt")})
	b.sums.ToppedUp.Nano = 1000
	for i := range n {
		id := fmt.Sprint("call-", i)
		b.charge(id, "", "held", int64(i+1))
		if i%3 == 1 { // ends after the next has begun
			before := fmt.Sprint("call-", i-1)
			b.charge(before, "held", "unresolved", int64(i))
			b.charge(before, "unresolved", "released", int64(i))
		}
		if i%3 != 0 || i == n-1 {
			b.charge(id, "held", "captured", int64(i+1))
		}
	}
	return b
}

// check adds the entries in the order of their indexes, and returns the summary and the names of the problems.
func check(b *book, order []int, sparse bool) (evidence.Summary, []string) {
	c := evidence.NewChain(own)
	for _, i := range order {
		c.Add(b.entries[i], b.leaves[i])
	}
	s := c.Finish(sparse)
	list, _ := c.Problems()
	var names []string
	for _, p := range list {
		names = append(names, string(p.Name)+" "+p.Where)
	}
	return s, names
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// The order of pages does not matter.
func TestChainInAnyOrder(t *testing.T) {
	t.Parallel()
	b := usual(60)
	forward := upTo(len(b.entries))
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	shuffled := slices.Clone(forward)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	var pages []int
	for _, page := range [][2]int{{100, len(forward)}, {0, 50}, {50, 100}} {
		pages = append(pages, forward[page[0]:page[1]]...)
	}
	for name, order := range map[string][]int{"forward": forward, "backward": backward, "shuffled": shuffled, "pages": pages} {
		s, names := check(b, order, false)
		last := len(b.entries) - 1
		want := evidence.Summary{To: int64(last), Head: b.leaves[last], Entries: int64(last + 1), Sums: b.sums, Known: true}
		if s != want || len(names) > 0 {
			t.Errorf("%s: got %+v, %q, want %+v", name, s, names, want)
		}
	}
}

func TestChainFindsProblems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *book) []int // returns the order; nil: forward
		sparse bool
		want   string
	}{
		"none":      {func(*book) []int { return nil }, false, ""},
		"a gap":     {func(*book) []int { return []int{0, 1, 2, 5, 6} }, false, "GAP EUR 3"},
		"no start":  {func(*book) []int { return []int{3, 4} }, false, "GAP EUR 0"},
		"receipts":  {func(*book) []int { return []int{3, 6} }, true, ""},
		"duplicate": {func(*book) []int { return []int{0, 1, 2, 1} }, false, "DUPLICATE EUR 1"},
		"another entry of one number": {func(b *book) []int {
			b.entries, b.leaves = append(b.entries, b.entries[1]), append(b.leaves, some)
			return []int{0, 1, 2, len(b.entries) - 1}
		}, false, "FORK EUR 1"},
		"another predecessor": {func(b *book) []int {
			b.leaves[2] = some
			return nil
		}, false, "FORK EUR 3"},
		"another predecessor, backward": {func(b *book) []int {
			b.leaves[2] = some
			return []int{3, 2, 1, 0}
		}, false, "FORK EUR 3"},
		"captured twice": {func(b *book) []int {
			b.charge("call-1", "held", "captured", 2)
			return nil
		}, false, "STATE EUR"},
		"captured after release": {func(b *book) []int {
			b.charge("call-x", "released", "captured", 2)
			return nil
		}, false, "STATE EUR"},
		"captured at once": {func(b *book) []int {
			b.charge("call-x", "", "captured", 2)
			return nil
		}, false, "STATE EUR"},
		"begun twice": {func(b *book) []int {
			b.charge("call-x", "", "held", 2)
			b.charge("call-x", "", "held", 2)
			return nil
		}, false, "STATE EUR"},
		"another amount": {func(b *book) []int {
			b.charge("call-x", "", "held", 2)
			b.charge("call-x", "held", "captured", 3)
			return nil
		}, false, "AMOUNT EUR"},
		"another request": {func(b *book) []int {
			b.charge("call-x", "", "held", 2)
			b.add(evidence.Entry{Kind: evidence.KindCharge, ID: "call-x", From: "held", To: "captured", Amount: amount(2)})
			return nil
		}, false, "REQUEST EUR"},
		"an earlier epoch": {func(b *book) []int {
			b.add(evidence.Entry{Kind: evidence.KindTopUp, Epoch: 2, Amount: amount(1), Salt: []byte("salt")})
			e := b.entries[len(b.entries)-1]
			e.K, e.Epoch, e.Prev = e.K+1, 1, b.leaves[len(b.leaves)-1]
			b.entries, b.leaves = append(b.entries, e), append(b.leaves, evidence.LeafHash(e.Append(nil)))
			return nil
		}, false, "EPOCH EUR"},
		"another issuer": {func(b *book) []int {
			b.entries[3].Issuer = "other.example"
			return nil
		}, false, "EPOCH EUR 3"},
		"another account": {func(b *book) []int {
			b.entries[len(b.entries)-1].Account.Agent = "other"
			return nil
		}, false, "AGREEMENT EUR"},
	} {
		b := usual(6)
		order := tt.change(b)
		if order == nil {
			order = upTo(len(b.entries))
		}
		_, names := check(b, order, tt.sparse)
		if got := strings.Join(names, "; "); tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// A carry replaces the entries before it.
func TestChainWithCarry(t *testing.T) {
	t.Parallel()
	carried := func(n int, change func(*evidence.Sums)) *book {
		at := usual(0)
		whole := usual(6)
		at.entries, at.leaves = nil, nil
		for _, e := range whole.entries[:n] { // the position after n entries
			if e.Kind == evidence.KindTopUp {
				at.add(e)
			} else {
				at.charge(e.ID, e.From, e.To, e.Amount.Nano)
			}
		}
		sums := at.sums
		if change != nil {
			change(&sums)
		}
		whole.carry(n, sums)
		return whole
	}
	for name, tt := range map[string]struct {
		replaces, from int
		change         func(*evidence.Sums)
		want           string
	}{
		"all before":                             {5, 5, nil, ""},
		"not yet deleted":                        {5, 0, nil, ""},
		"partly deleted":                         {5, 3, nil, "GAP"},
		"less held than ended":                   {5, 5, func(s *evidence.Sums) { s.Held.Nano = 0 }, "STATE"},
		"other sums, and the entries themselves": {5, 0, func(s *evidence.Sums) { s.Captured.Nano++ }, "AMOUNT"},
	} {
		b := carried(tt.replaces, tt.change)
		c := evidence.NewChain(own)
		c.Expect(b.entries[len(b.entries)-1])
		for i := tt.from; i < len(b.entries); i++ {
			c.Add(b.entries[i], b.leaves[i])
		}
		s := c.Finish(false)
		list, _ := c.Problems()
		if got := fmt.Sprint(list); tt.want == "" && (len(list) > 0 || s.Sums != b.sums || !s.Known) || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %+v, %s, want %q and %+v", name, s, got, tt.want, b.sums)
		}
	}
}

func BenchmarkChain(b *testing.B) {
	const n = 100_000
	whole := usual(n)
	for b.Loop() {
		if _, names := check(whole, upTo(len(whole.entries)), false); len(names) > 0 {
			b.Fatal(names)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(whole.entries)), "ns/entry")
}
