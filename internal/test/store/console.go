package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

type consoles interface {
	AddConsoleSession(ctx context.Context, c store.ConsoleSession) error
	ConsoleSession(ctx context.Context, id string) (store.ConsoleSession, error)
	ConsoleSessions(ctx context.Context, limit int) ([]store.ConsoleSession, error)
	KeepConsoleSession(ctx context.Context, id string, until time.Time) error
	ConfirmConsoleSession(ctx context.Context, id string, at time.Time) error
	EndConsoleSession(ctx context.Context, id string) error
	AddConsoleLink(ctx context.Context, l store.ConsoleLink) error
	TakeConsoleLink(ctx context.Context, code string) (store.ConsoleLink, error)
}

func testConsole(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a session is stored unchanged":       consoleSession,
		"a session ends":                      consoleSessionEnds,
		"sessions and links are bounded":      consoleBounded,
		"a link works once, until it expires": consoleLinkOnce,
		"a restore ends sessions and links":   consoleRestored,
	})
}

func consoleRestored(b *suite) {
	b.must(b.AddConsoleSession(b.Context(), sessionOf("s1", start.Add(time.Hour))))
	b.must(b.AddConsoleLink(b.Context(), store.ConsoleLink{Code: "c1", Name: "ann", Role: "viewer", Until: start.Add(time.Hour)}))
	b.restore(store.RestoreUsed, 10)
	_, err := b.ConsoleSession(b.Context(), "s1")
	b.want(err, store.ErrNotFound)
	_, err = b.TakeConsoleLink(b.Context(), "c1")
	b.want(err, store.ErrNotFound)
}

func sessionOf(id string, until time.Time) store.ConsoleSession {
	return store.ConsoleSession{
		ID: id, Name: "ann", Role: "operator", Via: "token", Credential: "digest", CreatedAt: start, ConfirmedAt: start,
		EndsAt: start.Add(12 * time.Hour), Until: until,
	}
}

func consoleSession(b *suite) {
	want := sessionOf("s1", start.Add(time.Hour))
	b.must(b.AddConsoleSession(b.Context(), want))
	want.Until, want.ConfirmedAt = start.Add(2*time.Hour), start.Add(time.Minute)
	b.must(b.KeepConsoleSession(b.Context(), "s1", want.Until))
	b.must(b.ConfirmConsoleSession(b.Context(), "s1", want.ConfirmedAt))
	b.want(b.KeepConsoleSession(b.Context(), "s2", want.Until), store.ErrUsed)
	b.want(b.ConfirmConsoleSession(b.Context(), "s2", want.Until), store.ErrUsed)
	b.reopen()
	got, err := b.ConsoleSession(b.Context(), "s1")
	b.must(err)
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("differs (-want +got):\n%s", d)
	}
	list, err := b.ConsoleSessions(b.Context(), 10)
	b.must(err)
	if d := cmp.Diff([]store.ConsoleSession{want}, list); d != "" {
		b.Errorf("differs (-want +got):\n%s", d)
	}
}

func consoleSessionEnds(b *suite) {
	for _, id := range []string{"ended", "late", "live"} {
		until := start.Add(time.Hour)
		if id == "late" {
			until = start.Add(time.Minute)
		}
		b.must(b.AddConsoleSession(b.Context(), sessionOf(id, until)))
	}
	b.must(b.EndConsoleSession(b.Context(), "ended"))
	b.must(b.EndConsoleSession(b.Context(), "ended"))
	b.clock.Advance(time.Minute)
	for _, id := range []string{"ended", "late", "unknown"} {
		_, err := b.ConsoleSession(b.Context(), id)
		b.want(err, store.ErrNotFound)
	}
	list, err := b.ConsoleSessions(b.Context(), 10)
	b.must(err)
	if len(list) != 1 || list[0].ID != "live" {
		b.Errorf("got %+v", list)
	}
	b.clock.Advance(time.Hour)
	if n, err := b.Purge(b.Context()); err != nil || n != 2 {
		b.Errorf("purged %d, %v; want 2", n, err)
	}
}

func consoleBounded(b *suite) {
	b.must(b.AddConsoleSession(b.Context(), sessionOf("first", start.Add(time.Minute))))
	b.must(b.AddConsoleLink(b.Context(), store.ConsoleLink{Code: "first", Role: "viewer", Until: start.Add(time.Second)}))
	for i := range store.MostConsoleSessions {
		b.must(b.AddConsoleSession(b.Context(), sessionOf(fmt.Sprint(i), start.Add(time.Hour))))
	}
	for i := range store.MostConsoleLinks {
		b.must(b.AddConsoleLink(b.Context(), store.ConsoleLink{Code: fmt.Sprint(i), Role: "viewer", Until: start.Add(time.Minute)}))
	}
	_, err := b.ConsoleSession(b.Context(), "first")
	b.want(err, store.ErrNotFound)
	_, err = b.TakeConsoleLink(b.Context(), "first")
	b.want(err, store.ErrNotFound)
	list, err := b.ConsoleSessions(b.Context(), 2*store.MostConsoleSessions)
	b.must(err)
	if len(list) != store.MostConsoleSessions {
		b.Errorf("%d sessions; want %d", len(list), store.MostConsoleSessions)
	}
	_, err = b.TakeConsoleLink(b.Context(), "0")
	b.must(err)
}

func consoleLinkOnce(b *suite) {
	want := store.ConsoleLink{Code: "c", Name: "ann", Role: "billing", Until: start.Add(time.Minute)}
	b.must(b.AddConsoleLink(b.Context(), want))
	b.must(b.AddConsoleLink(b.Context(), store.ConsoleLink{Code: "late", Role: "viewer", Until: start.Add(time.Second)}))
	b.clock.Advance(time.Second)
	_, err := b.TakeConsoleLink(b.Context(), "late")
	b.want(err, store.ErrNotFound)
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	var taken atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		engine := []Engine{b.Engine, other}[i%2]
		all.Go(func() {
			if got, err := engine.TakeConsoleLink(b.Context(), "c"); err == nil {
				taken.Add(1)
				if d := cmp.Diff(want, got); d != "" {
					b.Errorf("differs (-want +got):\n%s", d)
				}
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != 1 {
		b.Errorf("the link was used %d times; want 1", n)
	}
}
