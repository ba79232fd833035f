package mailbox_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/mailbox"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// attest returns the attestation of an agent, as the framework makes it. change may change the content before it is signed.
func attest(tb testing.TB, key identity.Key, from, until time.Time, change func([]byte) []byte) string {
	tb.Helper()
	content := append([]byte{}, key.Address().PublicKey()...)
	content = binary.BigEndian.AppendUint64(content, uint64(from.Unix()))
	content = binary.BigEndian.AppendUint64(content, uint64(until.Unix()))
	content = append(content, make([]byte, 32)...)
	if change != nil {
		content = change(content)
	}
	return "Agent attr:" + base64.StdEncoding.EncodeToString(content) + ":" + key.Sign(sha256.Sum256(content)).String()
}

func keyOf(tb testing.TB, seed string) identity.Key {
	tb.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func TestAttestations(t *testing.T) {
	t.Parallel()
	alice, bob := keyOf(t, "alice recovery password"), keyOf(t, "bob recovery password")
	if got, err := mailbox.Attested(attest(t, alice, noon, noon.Add(time.Hour), nil), noon); err != nil || got != alice.Address() {
		t.Errorf("got %s, %v; want %s", got, err, alice.Address())
	}
	valid := attest(t, alice, noon, noon.Add(time.Hour), nil)
	for name, header := range map[string]string{
		"empty":          "",
		"a bearer token": "Bearer " + valid,
		"no signature":   valid[:len(valid)-114],
		"not base64":     "Agent attr:*" + valid[len("Agent attr:")+1:],
		"cut off":        valid[:len(valid)-1],
		"ended":          attest(t, alice, noon.Add(-time.Hour), noon, nil),
		"not yet":        attest(t, alice, noon.Add(2*time.Minute), noon.Add(time.Hour), nil),
		"too long":       attest(t, alice, noon, noon.Add(25*time.Hour), nil),
		"backwards":      attest(t, alice, noon.Add(30*time.Second), noon.Add(10*time.Second), nil),
		"another key": attest(t, bob, noon, noon.Add(time.Hour), func(content []byte) []byte {
			return append(alice.Address().PublicKey(), content[33:]...)
		}),
		"no nonce":       attest(t, alice, noon, noon.Add(time.Hour), func(content []byte) []byte { return content[:49] }),
		"no key":         attest(t, alice, noon, noon.Add(time.Hour), func(content []byte) []byte { return append(make([]byte, 33), content[33:]...) }),
		"a longer nonce": attest(t, alice, noon, noon.Add(time.Hour), func(content []byte) []byte { return append(content, 0) }),
	} {
		if got, err := mailbox.Attested(header, noon); got != "" || !errors.Is(err, mailbox.ErrAttestation) {
			t.Errorf("%s: %q, %v; want %v", name, got, err, mailbox.ErrAttestation)
		}
	}
}

func FuzzAttested(f *testing.F) {
	key := keyOf(f, "alice recovery password")
	f.Add(attest(f, key, noon, noon.Add(time.Hour), nil))
	f.Add("Agent attr::")
	f.Fuzz(func(t *testing.T, header string) {
		if agent, err := mailbox.Attested(header, noon); (err == nil) != agent.Agent() {
			t.Errorf("got %q, %v", agent, err)
		}
	})
}

func TestMailboxesAreBounded(t *testing.T) {
	t.Parallel()
	alice, bob := keyOf(t, "alice recovery password").Address(), keyOf(t, "bob recovery password").Address()
	now := noon
	m := mailbox.New(func() time.Time { return now })
	for range mailbox.MaxMessages {
		if err := m.Put("shop", alice, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Put("shop", alice, []byte("{}")); !errors.Is(err, mailbox.ErrFull) || reserves(m, alice) {
		t.Errorf("got %v, want %v", err, mailbox.ErrFull)
	}
	if err := m.Put("shop", bob, make([]byte, mailbox.MaxBytes)); !errors.Is(err, mailbox.ErrFull) {
		t.Errorf("got %v, want %v", err, mailbox.ErrFull)
	}
	if err := m.Put("other", alice, []byte("[]")); err != nil || len(m.List("other", alice)) != 1 || len(m.List("other", bob)) != 0 {
		t.Errorf("got %v, %v", err, m.List("other", alice))
	}
	list := m.List("shop", alice)
	if m.Delete("shop", bob, list[0].UUID) || !m.Delete("shop", alice, list[0].UUID) || m.Delete("shop", alice, list[0].UUID) ||
		reserves(m, alice) || m.List("shop", alice)[0].UUID != list[1].UUID {
		t.Error("a message was not deleted exactly once, by its receiver")
	}
	now = now.Add(mailbox.Keep)
	if n := len(m.List("shop", alice)); n != 0 {
		t.Errorf("got %d messages after their time, want 0", n)
	}
	if err := m.Put("shop", bob, make([]byte, mailbox.MaxBytes)); err != nil {
		t.Errorf("expired messages take space: %v", err)
	}
}

// reserves reports whether a mailbox has space for an answer, and ends the reservation.
func reserves(m *mailbox.Mailboxes, agent identity.Address) bool {
	release, ok := m.Reserve("shop", agent)
	if ok {
		release()
	}
	return ok
}

func TestReservations(t *testing.T) {
	t.Parallel()
	m := mailbox.New(func() time.Time { return noon })
	alice := keyOf(t, "alice recovery password").Address()
	var releases []func()
	for {
		release, ok := m.Reserve("shop", alice)
		if !ok {
			break
		}
		releases = append(releases, release)
	}
	if len(releases) != mailbox.MaxMessages/2 {
		t.Errorf("%d reservations, want %d", len(releases), mailbox.MaxMessages/2)
	}
	for range mailbox.MaxMessages {
		if err := m.Put("shop", alice, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for _, release := range releases {
		release()
	}
	for _, one := range m.List("shop", alice)[:2] {
		if reserves(m, alice) {
			t.Error("a mailbox without space for two messages accepts an answer")
		}
		m.Delete("shop", alice, one.UUID)
	}
	if !reserves(m, alice) {
		t.Error("a mailbox with space accepts no answer")
	}
	bob := keyOf(t, "bob recovery password").Address()
	if err := m.Put("shop", bob, make([]byte, mailbox.MaxBytes-10<<10)); err != nil {
		t.Fatal(err)
	}
	if reserves(m, alice) {
		t.Error("mailboxes without space for an answer accept one")
	}
}
