package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

func testConsents(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a consent is stored unchanged":        consentRoundTrip,
		"a refresh token has its own handle":   consentByRefresh,
		"a browser has a last consent":         lastConsent,
		"a code is used once":                  codeOnce,
		"a refresh token is replaced once":     rotateOnce,
		"clients are bounded, and forgotten":   clientsBounded,
		"an invitation is taken once, in time": invitationOnce,
		"consents are forgotten":               consentsPurged,
	})
}

func (b *suite) consent() store.Consent {
	b.Helper()
	c := store.Consent{
		Service: service, Handle: "h", RefreshHandle: "r", AgreementID: "agreement", ClientID: "https://client.example/c.json",
		Document:    "sha-256:d",
		RedirectURI: "http://localhost:1/cb", Challenge: "challenge", Resource: "https://shop.example/mcp", Request: "state", Browser: "browser",
		CreatedAt: start, Until: start.Add(time.Hour),
	}
	b.must(b.AddConsent(b.Context(), c))
	return c
}

func consentRoundTrip(b *suite) {
	want := b.consent()
	until := start.Add(time.Minute)
	b.must(b.SetCode(b.Context(), service, "h", "code", until))
	b.must(b.Rotate(b.Context(), service, "h", "", "refresh"))
	want.Code, want.CodeUntil, want.Refresh = "code", until, "refresh"
	b.reopen()
	got, err := b.Consent(b.Context(), service, "h")
	b.must(err)
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	for _, of := range [][2]string{{service, "x"}, {"another", "h"}} {
		_, err := b.Consent(b.Context(), of[0], of[1])
		b.want(err, store.ErrNotFound)
	}
	b.want(b.AddConsent(b.Context(), want), store.ErrUsed)
}

// consentByRefresh checks that the handle of a code does not find a consent as a refresh token, except for consents of earlier releases.
func consentByRefresh(b *suite) {
	want := b.consent()
	old := want
	old.Handle, old.RefreshHandle = "old", ""
	b.must(b.AddConsent(b.Context(), old))
	for handle, want := range map[string]store.Consent{"r": want, "old": old} {
		got, err := b.ConsentByRefresh(b.Context(), service, handle)
		b.must(err)
		if d := cmp.Diff(want, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	for _, of := range [][2]string{{service, "h"}, {service, ""}, {"another", "r"}, {"another", "old"}} {
		_, err := b.ConsentByRefresh(b.Context(), of[0], of[1])
		b.want(err, store.ErrNotFound)
	}
}

// lastConsent checks that only the browser, client and service of a consent find it, and that the newest one is found.
func lastConsent(b *suite) {
	c := b.consent()
	for n, handle := range []string{"newest", "older"} {
		c.Handle, c.RefreshHandle, c.CreatedAt = handle, handle, start.Add(time.Duration(2-n)*time.Minute)
		b.must(b.AddConsent(b.Context(), c))
	}
	got, err := b.LastConsent(b.Context(), service, c.Browser, c.ClientID)
	b.must(err)
	if got.Handle != "newest" {
		b.Fatalf("got %q, want the newest consent", got.Handle)
	}
	for _, of := range [][3]string{
		{"another", c.Browser, c.ClientID}, {service, "another", c.ClientID}, {service, c.Browser, "another"}, {service, "", c.ClientID},
	} {
		_, err := b.LastConsent(b.Context(), of[0], of[1], of[2])
		b.want(err, store.ErrNotFound)
	}
}

// onlyOne runs do 8 times at once, and checks that exactly one run succeeds.
func (b *suite) onlyOne(do func(n int) error) {
	b.Helper()
	var done atomic.Int32
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			if do(n) == nil {
				done.Add(1)
			}
		})
	}
	group.Wait()
	if done.Load() != 1 {
		b.Fatalf("%d succeeded, want 1", done.Load())
	}
}

func codeOnce(b *suite) {
	b.consent()
	b.want(b.UseCode(b.Context(), service, "h", ""), store.ErrUsed)
	b.must(b.SetCode(b.Context(), service, "h", "first", start.Add(time.Minute)))
	b.must(b.SetCode(b.Context(), service, "h", "code", start.Add(time.Minute)))
	b.want(b.UseCode(b.Context(), service, "h", "first"), store.ErrUsed)
	b.onlyOne(func(int) error { return b.UseCode(b.Context(), service, "h", "code") })
	b.want(b.SetCode(b.Context(), service, "h", "again", start.Add(time.Minute)), store.ErrUsed)
}

func rotateOnce(b *suite) {
	b.consent()
	b.must(b.Rotate(b.Context(), service, "h", "", "1"))
	b.want(b.Rotate(b.Context(), service, "h", "", "2"), store.ErrUsed)
	b.onlyOne(func(n int) error { return b.Rotate(b.Context(), service, "h", "1", fmt.Sprint("next-", n)) })
	b.want(b.Rotate(b.Context(), service, "unknown", "", "1"), store.ErrUsed)
}

func clientsBounded(b *suite) {
	client := func(id string) store.Client {
		return store.Client{
			Service: service, ID: id, Name: "Client", Redirects: []string{"http://localhost/cb", "x:/y"},
			CreatedAt: start, Until: start.Add(time.Hour),
		}
	}
	b.must(b.AddClient(b.Context(), client("1"), 2, start))
	b.must(b.AddClient(b.Context(), client("2"), 2, start))
	b.want(b.AddClient(b.Context(), client("3"), 2, start.Add(time.Hour)), store.ErrFull)
	b.must(b.KeepClient(b.Context(), service, "1", start.Add(2*time.Hour)))
	b.must(b.AddClient(b.Context(), client("3"), 2, start.Add(time.Hour+1))) // "2" has expired and makes room
	_, err := b.Client(b.Context(), service, "2")
	b.want(err, store.ErrNotFound)
	b.must(b.KeepClient(b.Context(), service, "1", start.Add(time.Minute))) // does not shorten the time
	b.must(b.KeepClient(b.Context(), service, "unknown", start.Add(time.Hour)))
	b.clock.Advance(time.Hour)
	b.purge()
	_, err = b.Client(b.Context(), service, "3")
	b.want(err, store.ErrNotFound)
	want := client("1")
	want.Until = start.Add(2 * time.Hour)
	got, err := b.Client(b.Context(), service, "1")
	b.must(err)
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	b.must(b.AddClient(b.Context(), client("4"), 2, start))
}

func invitationOnce(b *suite) {
	for _, code := range []string{"good", "late"} {
		b.must(b.AddInvitation(b.Context(), store.Invitation{
			Service: service, Code: code, Name: "Ann", CreatedAt: start, Until: start.Add(time.Hour),
		}))
	}
	_, err := b.TakeInvitation(b.Context(), "another", "good")
	b.want(err, store.ErrNotFound)
	b.onlyOne(func(int) error {
		i, err := b.TakeInvitation(b.Context(), service, "good")
		if err == nil && i.Name != "Ann" {
			b.Errorf("got %+v", i)
		}
		return err
	})
	b.clock.Advance(time.Hour)
	_, err = b.TakeInvitation(b.Context(), service, "late")
	b.want(err, store.ErrNotFound)
	if n := b.purge(); n != 1 {
		b.Fatalf("%d rows were purged", n)
	}
}

func consentsPurged(b *suite) {
	b.consent()
	b.clock.Advance(time.Hour - time.Nanosecond)
	b.purge()
	_, err := b.Consent(b.Context(), service, "h")
	b.must(err)
	b.clock.Advance(time.Nanosecond)
	b.purge()
	_, err = b.Consent(b.Context(), service, "h")
	b.want(err, store.ErrNotFound)
}
