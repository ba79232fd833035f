package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

func testAlmanac(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a registration is stored unchanged":      registrationRoundTrip,
		"the newest registration wins":            registrationNewest,
		"registrations are bounded":               registrationsBounded,
		"networks of sources are bounded":         registrationsOfNetworks,
		"an agent becomes active and inactive":    registrationActive,
		"registrations are found by protocol":     registrationsFound,
		"registrations are forgotten":             registrationsPurged,
		"one of many parallel ones is the newest": registrationsAtOnce,
	})
}

// many has bounds that no test reaches.
var many = store.RegistrationBounds{All: 100, Source: 100}

// registration returns a registration signed some time after start.
func registration(address string, after time.Duration) store.Registration {
	return store.Registration{
		Service: service, Address: address, Network: "agent", Record: []byte(`{"n": ` + fmt.Sprint(after.Seconds()) + `}`),
		Protocols: []string{"proto:a", "proto:b"}, Source: "192.0.2.1", Active: true,
		AttestedAt: start.Add(after), Until: start.Add(after + time.Hour),
	}
}

// registered compares a stored registration with the wanted one, without the protocols.
func (b *suite) registered(want store.Registration) {
	b.Helper()
	got, err := b.Registration(b.Context(), want.Service, want.Address)
	b.must(err)
	want.Protocols = nil
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
}

func registrationRoundTrip(b *suite) {
	want := registration("agent1a", 0)
	b.must(b.Register(b.Context(), want, many))
	b.reopen()
	b.registered(want)
	for _, of := range [][2]string{{service, "agent1x"}, {"another", "agent1a"}} {
		_, err := b.Registration(b.Context(), of[0], of[1])
		b.want(err, store.ErrNotFound)
	}
}

func registrationNewest(b *suite) {
	newest := registration("agent1a", time.Minute)
	b.must(b.Register(b.Context(), registration("agent1a", 0), many))
	b.must(b.Register(b.Context(), newest, many))
	b.want(b.Register(b.Context(), registration("agent1a", 0), many), store.ErrOlder)
	same := newest
	same.Record, same.Until = []byte("{}"), newest.Until.Add(time.Hour)
	b.must(b.Register(b.Context(), same, many)) // a repeated registration changes nothing
	b.registered(newest)
}

func registrationsBounded(b *suite) {
	most := store.RegistrationBounds{All: 3, Source: 2}
	of := func(address, source string) store.Registration {
		r := registration(address, 0)
		r.Source = source
		return r
	}
	b.must(b.Register(b.Context(), of("agent1a", "1"), most))
	b.must(b.Register(b.Context(), of("agent1b", "1"), most))
	b.want(b.Register(b.Context(), of("agent1c", "1"), most), store.ErrShare)
	b.must(b.Register(b.Context(), of("agent1c", "2"), most))
	b.want(b.Register(b.Context(), of("agent1d", "3"), most), store.ErrFull)
	again := registration("agent1a", time.Second)
	again.Source = "1"
	b.must(b.Register(b.Context(), again, most)) // a registered agent may register again
	b.clock.Advance(time.Hour)                   // only agent1a is left
	late := registration("agent1d", time.Hour)
	late.Source = "1"
	b.must(b.Register(b.Context(), late, most)) // expired registrations do not count, purged or not
	other := late
	other.Service = "another"
	b.must(b.Register(b.Context(), other, most))
}

func registrationsOfNetworks(b *suite) {
	n := 0
	register := func(source string) error {
		n++
		r := registration(fmt.Sprintf("agent1%03d", n), 0)
		r.Source = source
		return b.Register(b.Context(), r, store.RegistrationBounds{
			All: 100, Source: 100, Wider: []store.SourcesBound{{Prefix: source[:3], Most: 2}, {Prefix: source[:2], Most: 3}},
		})
	}
	b.must(register("a:00"))
	b.must(register("a:0f"))
	b.want(register("a:01"), store.ErrShare)
	b.must(register("a:10"))
	b.want(register("a:20"), store.ErrShare)
	b.want(register("a:0"), store.ErrShare)
	b.must(register("b:00"))
	b.must(register("a;00"))
	b.must(register("A:00"))
	b.clock.Advance(time.Hour)
	late := registration("agent1z", time.Hour)
	late.Source = "a:01"
	b.must(b.Register(b.Context(), late, store.RegistrationBounds{
		All: 100, Source: 100, Wider: []store.SourcesBound{{Prefix: "a:0", Most: 1}}, // expired registrations do not count
	}))
}

func registrationActive(b *suite) {
	b.want(b.SetActive(b.Context(), service, "agent1a", true, start), store.ErrNotFound)
	want := registration("agent1a", 0)
	b.must(b.Register(b.Context(), want, many))
	for _, step := range []struct {
		active bool
		after  time.Duration
		is     bool
	}{
		{false, time.Second, false},
		{true, 0, false},
		{true, time.Second, true},
		{false, time.Second, false},
		{true, 2 * time.Second, true},
		{false, time.Minute, false},
	} {
		b.must(b.SetActive(b.Context(), service, "agent1a", step.active, start.Add(step.after)))
		want.Active = step.is
		b.registered(want)
	}
	// A registration that was signed before the status does not change it, and a later one does.
	want = registration("agent1a", 30*time.Second)
	b.must(b.Register(b.Context(), want, many))
	want.Active = false
	b.registered(want)
	want = registration("agent1a", 2*time.Minute)
	b.must(b.Register(b.Context(), want, many))
	b.registered(want)
}

func registrationsFound(b *suite) {
	for _, address := range []string{"agent1c", "agent1a", "agent1b"} {
		b.must(b.Register(b.Context(), registration(address, 0), many))
	}
	found := func(protocol, after string, limit int, want ...string) {
		b.Helper()
		list, err := b.Registrations(b.Context(), service, protocol, after, limit)
		b.must(err)
		var got []string
		for _, r := range list {
			got = append(got, r.Address)
		}
		if d := cmp.Diff(want, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	found("proto:a", "", 2, "agent1a", "agent1b")
	found("proto:a", "agent1b", 2, "agent1c")
	found("proto:c", "", 2)
	changed := registration("agent1b", time.Minute)
	changed.Protocols = []string{"proto:c"}
	b.must(b.Register(b.Context(), changed, many))
	found("proto:a", "", 9, "agent1a", "agent1c")
	found("proto:c", "", 9, "agent1b")
	b.clock.Advance(time.Hour)
	found("proto:a", "", 9)
	found("proto:c", "", 9, "agent1b")
}

func registrationsPurged(b *suite) {
	b.must(b.Register(b.Context(), registration("agent1a", 0), many))
	b.clock.Advance(time.Hour - time.Nanosecond)
	if n := b.purge(); n != 0 {
		b.Fatalf("%d rows were purged", n)
	}
	b.registered(registration("agent1a", 0))
	b.clock.Advance(time.Nanosecond)
	_, err := b.Registration(b.Context(), service, "agent1a")
	b.want(err, store.ErrNotFound)
	if n := b.purge(); n != 3 { // and two protocols
		b.Fatalf("%d rows were purged", n)
	}
}

func registrationsAtOnce(b *suite) {
	errs := make(chan error, 8)
	for n := range 8 {
		go func() {
			r := registration("agent1a", time.Duration(n)*time.Second)
			errs <- b.Register(b.Context(), r, many)
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			b.want(err, store.ErrOlder)
		}
	}
	b.registered(registration("agent1a", 7*time.Second))
}
