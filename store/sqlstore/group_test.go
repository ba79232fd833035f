package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A note is an operation of the tests' group. It writes a tag.
type note struct {
	tag   string
	alone bool // it had its own transaction
	with  int  // the number of other notes in the transaction
}

// notes returns a group, and holds back a transaction of it until release is called. Other operations wait meanwhile.
func notes(t *testing.T, s *sqlstore.Store) (group *engine.Group[note], release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	group = engine.NewGroup(s.Engine(), func(_ context.Context, x *engine.Tx, all []*note) error {
		if all[0].tag == "" {
			close(held)
			<-free
			return nil
		}
		var list []engine.Command
		for _, n := range all {
			n.with, n.alone = len(all)-1, len(all) == 1
			list = append(list, engine.Command{
				Query: "INSERT INTO relay_tag_counts (tag, agents) VALUES (?, 1)", Args: []any{[]byte(n.tag)}, Must: 1,
			})
		}
		x.Last(list)
		return nil
	})
	var first sync.WaitGroup
	first.Go(func() {
		if err := group.Do(t.Context(), &note{}, 0); err != nil {
			t.Error(err)
		}
	})
	<-held
	return group, func() {
		close(free)
		first.Wait()
	}
}

// queued calls do for each note, and calls release when all of them wait.
func queued(t *testing.T, s *sqlstore.Store, release func(), all []*note, do func(n *note) error) []error {
	t.Helper()
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, n := range all {
		work.Go(func() { errs[i] = do(n) })
	}
	sqlstore.AwaitQueued(s, len(all))
	release()
	work.Wait()
	return errs
}

func tags(t *testing.T, s *sqlstore.Store) (list string) {
	t.Helper()
	err := s.Engine().List(t.Context(), "SELECT tag FROM relay_tag_counts ORDER BY tag", nil, func(scan func(...any) error) error {
		var tag []byte
		err := scan(&tag)
		list += string(tag)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		for name, test := range map[string]func(*testing.T, *sqlstore.Store){
			"operations share a transaction":         groupShares,
			"after a failure each runs alone":        groupIsolates,
			"large operations share with few others": groupBounded,
			"an abandoned operation does not run":    groupAbandons,
		} {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, openShared(t, p.at(t)))
			})
		}
	}
}

func groupShares(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	group, release := notes(t, s)
	all := []*note{{tag: "a"}, {tag: "b"}, {tag: "c"}}
	for i, err := range queued(t, s, release, all, func(n *note) error { return group.Do(t.Context(), n, 0) }) {
		if err != nil || all[i].with != 2 {
			t.Errorf("got %+v, %v; want no error and with 2", all[i], err)
		}
	}
	if got := tags(t, s); got != "abc" {
		t.Errorf("got %q, want %q", got, "abc")
	}
}

func groupIsolates(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	group, release := notes(t, s)
	all := []*note{{tag: "a"}, {tag: "b"}, {tag: "b"}, {tag: "c"}}
	errs := queued(t, s, release, all, func(n *note) error { return group.Do(t.Context(), n, 0) })
	failed := 0
	for i, err := range errs {
		switch {
		case err == nil:
		case all[i].tag == "b" && errors.Is(err, store.ErrUnavailable):
			failed++
		default:
			t.Errorf("got %+v, %v", all[i], err)
		}
		if !all[i].alone {
			t.Errorf("%+v was not retried alone", all[i])
		}
	}
	if got := tags(t, s); got != "abc" || failed != 1 {
		t.Error(got, errs)
	}
}

func groupBounded(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	group, release := notes(t, s)
	var all []*note
	for i := range 5 {
		all = append(all, &note{tag: fmt.Sprint(i)})
	}
	for i, err := range queued(t, s, release, all, func(n *note) error { return group.Do(t.Context(), n, 2<<20) }) {
		if err != nil || all[i].with > 1 {
			t.Errorf("got %+v, %v; want no error and with at most 1", all[i], err)
		}
	}
	if got := tags(t, s); got != "01234" {
		t.Errorf("got %q, want %q", got, "01234")
	}
}

func groupAbandons(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	group, release := notes(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var first, second sync.WaitGroup
	first.Go(func() {
		if err := group.Do(ctx, &note{tag: "a"}, 0); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want %v and %v", err, store.ErrUnavailable, context.Canceled)
		}
	})
	sqlstore.AwaitQueued(s, 1)
	cancel()
	first.Wait()
	second.Go(func() {
		if err := group.Do(t.Context(), &note{tag: "b"}, 0); err != nil {
			t.Error(err)
		}
	})
	sqlstore.AwaitQueued(s, 2)
	release()
	second.Wait()
	if got := tags(t, s); got != "b" {
		t.Errorf("got %q, want %q", got, "b")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := group.Do(t.Context(), &note{tag: "c"}, 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, store.ErrUnavailable)
	}
}
