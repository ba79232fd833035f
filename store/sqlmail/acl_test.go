package sqlmail_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
)

func TestAccessLists(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"an entry is set, changed and removed": entries,
		"entries are listed by their ids":      entriesListed,
	})
}

func entries(r *relay) {
	_, err := r.SetEntry(r.Context(), alice, bob, mail.Allow)
	r.want(err, mail.ErrNotFound)
	r.agent(alice)
	set, err := r.SetEntry(r.Context(), alice, bob, mail.Allow)
	r.must(err)
	other, err := r.SetEntry(r.Context(), alice, carol, mail.Block)
	r.must(err)
	if set.ID == other.ID || set.CreatedAt.IsZero() {
		r.Fatal(set, other)
	}
	changed, err := r.SetEntry(r.Context(), alice, bob, mail.Block)
	r.must(err)
	set.Type = mail.Block
	r.reopen()
	got, err := r.Entry(r.Context(), alice, bob)
	r.must(err)
	for _, got := range []mail.Entry{changed, got} {
		if d := cmp.Diff(set, got); d != "" {
			r.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	_, err = r.Entry(r.Context(), bob, alice)
	r.want(err, mail.ErrNotFound)
	r.must(r.DeleteEntry(r.Context(), alice, carol))
	r.want(r.DeleteEntry(r.Context(), alice, carol), mail.ErrNotFound)
	again, err := r.SetEntry(r.Context(), alice, carol, mail.Block)
	r.must(err)
	if again.ID <= other.ID {
		r.Fatal("an id was used again")
	}
}

func entriesListed(r *relay) {
	r.agent(alice, bob)
	for n := range 7 {
		_, err := r.SetEntry(r.Context(), alice, key(n+10), []string{mail.Allow, mail.Block}[n%2])
		r.must(err)
	}
	_, err := r.SetEntry(r.Context(), bob, key(10), mail.Allow)
	r.must(err)
	for kind, want := range map[string][]int{
		"": {10, 11, 12, 13, 14, 15, 16}, mail.Allow: {10, 12, 14, 16}, mail.Block: {11, 13, 15}, "other": nil, "\x00": nil,
	} {
		for limit := 1; limit < 9; limit++ {
			var got []int
			var after int64
			for {
				list, more, err := r.Entries(r.Context(), alice, kind, after, limit)
				r.must(err)
				for _, e := range list {
					got, after = append(got, int(e.Peer[0])), e.ID
				}
				if !more {
					break
				}
			}
			if !slices.Equal(got, want) {
				r.Fatalf("%q by %d: %v; want %v", kind, limit, got, want)
			}
		}
	}
}
