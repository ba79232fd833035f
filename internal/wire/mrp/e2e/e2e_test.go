package e2e_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// Another implementation (@hpke/core in Node) sealed this with the key of seed 00..1f for the key of seed 20..3f.
const (
	sealedEnc = "jlrGkpdyC6SjPU7Vwmpw6osN2ww4Ifni4kpbNimban8"
	sealedCT  = "6Kw8F7ZCSY3NQIZGZ1JmrQLgO3SlYw1IZ6pAZIgrnjwD"
	sealed    = `{"v":2,"enc":"` + sealedEnc + `","ct":"` + sealedCT + `","ct_content_type":"application/json"}`
)

// private returns the key of a seed of 32 bytes that count upwards from a byte.
func private(from byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = from + byte(i)
	}
	return ed25519.NewKeyFromSeed(seed)
}

var (
	a, b       = private(0), private(0x20)
	keyA, keyB = wire.KeyOf(a), wire.KeyOf(b)
)

func TestX25519Keys(t *testing.T) {
	if got := hex.EncodeToString(e2e.Secret(a)); got != "3894eea49c580aef816935762be049559d6d1440dede12e6a125f1841fff8e6f" {
		t.Errorf("the secret of A is %s", got)
	}
	for key, want := range map[wire.Key]string{
		keyA: "4701d08488451f545a409fb58ae3e58581ca40ac3f7f114698cd71deac73ca01",
		keyB: "5730800ab340fcb18ce5111eda9d705f91388b41e4544cbd103ba5942db2233e",
	} {
		got, err := e2e.Public(key)
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s has %x, %v; want %s", key, got, err, want)
		}
	}
}

func TestOpenVectors(t *testing.T) {
	standard := base64.StdEncoding.EncodeToString
	enc, _ := base64.RawURLEncoding.DecodeString(sealedEnc)
	ct, _ := base64.RawURLEncoding.DecodeString(sealedCT)
	for name, body := range map[string]string{
		"unchanged":       sealed,
		"padded":          `{"v":2,"enc":"` + sealedEnc + `=","ct":"` + sealedCT + `","ct_content_type":"application/json"}`,
		"standard base64": `{"v":2,"enc":"` + standard(enc) + `","ct":"` + standard(ct) + `","ct_content_type":"application/json","new":1}`,
	} {
		contentType, plaintext, err := e2e.Open(b, keyA, []byte(body))
		if err != nil || contentType != wire.TypeJSON || string(plaintext) != `{"text":"secret"}` {
			t.Errorf("%s: %q %q %v", name, contentType, plaintext, err)
		}
	}
}

func TestOnlyRecipientCanOpen(t *testing.T) {
	for _, plaintext := range []string{"", "{}", `{"text":"secret"}`, strings.Repeat("x", 700_000)} {
		body, err := e2e.Seal(a, keyB, "application/x-mrp-request+json", []byte(plaintext))
		if err != nil {
			t.Fatal(err)
		}
		contentType, opened, err := e2e.Open(b, keyA, body)
		if err != nil || contentType != "application/x-mrp-request+json" || string(opened) != plaintext {
			t.Errorf("%d bytes: %q, %d bytes, %v", len(plaintext), contentType, len(opened), err)
		}
		again, err := e2e.Seal(a, keyB, "application/x-mrp-request+json", []byte(plaintext))
		if err != nil || bytes.Equal(again, body) {
			t.Errorf("two sealed bodies are equal: %v", err)
		}
		for name, err := range map[string]error{
			"the sender":         failure(e2e.Open(a, keyA, body)),
			"from another":       failure(e2e.Open(b, wire.KeyOf(private(0x40)), body)),
			"by another":         failure(e2e.Open(private(0x40), keyA, body)),
			"from the recipient": failure(e2e.Open(b, keyB, body)),
		} {
			if !errors.Is(err, e2e.ErrOpen) {
				t.Errorf("%s: %v, want %v", name, err, e2e.ErrOpen)
			}
		}
	}
}

func failure(contentType string, plaintext []byte, err error) error {
	if contentType != "" || plaintext != nil {
		return errors.New("values came with the error")
	}
	return err
}

func TestOpenErrors(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(sealed, old, with, 1) }
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"nothing":                      {"", e2e.ErrBody},
		"not an object":                {`"x"`, e2e.ErrBody},
		"trailing data":                {sealed + "{}", e2e.ErrBody},
		"a name twice":                 {change(`"v":2`, `"v":2,"v":2`), e2e.ErrBody},
		"no version":                   {change(`"v":2,`, ``), e2e.ErrVersion},
		"version 1":                    {change(`"v":2`, `"v":1`), e2e.ErrVersion},
		"a version as text":            {change(`"v":2`, `"v":"2"`), e2e.ErrVersion},
		"a version spelled otherwise":  {change(`"v":2`, `"v":2.0`), e2e.ErrVersion},
		"an encapsulated key too long": {change(sealedEnc, sealedEnc+"AA"), e2e.ErrBody},
		"another spelling of it":       {change(sealedEnc, sealedEnc[:42]+"9"), e2e.ErrBody},
		"a line feed in it":            {change(sealedEnc, sealedEnc[:10]+`\n`+sealedEnc[10:]), e2e.ErrBody},
		"a ciphertext without a tag":   {change(sealedCT, sealedCT[:18]), e2e.ErrBody},
		"no ciphertext":                {change(sealedCT, ""), e2e.ErrBody},
		"a changed ciphertext":         {change(sealedCT, "A"+sealedCT[1:]), e2e.ErrOpen},
		"a changed encapsulated key":   {change(sealedEnc, "A"+sealedEnc[1:]), e2e.ErrOpen},
		"a point of a small group":     {change(sealedEnc, strings.Repeat("A", 43)), e2e.ErrOpen},
		"no content type":              {change("application/json", ""), e2e.ErrBody},
		"one with a line feed":         {change("application/json", `a\nb`), e2e.ErrBody},
		"one that is too long":         {change("application/json", strings.Repeat("a", 257)), e2e.ErrBody},
		"too large":                    {change("}", strings.Repeat(" ", wire.MaxBody)+"}"), e2e.ErrSize},
	} {
		if err := failure(e2e.Open(b, keyA, []byte(c.body))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// Keys that are points of small order, not points, or other spellings of valid points are unusable.
func TestUnusableKeys(t *testing.T) {
	for name, text := range map[string]string{
		"the identity":             "0100000000000000000000000000000000000000000000000000000000000000",
		"of order 2":               "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"of order 4":               "0000000000000000000000000000000000000000000000000000000000000000",
		"of order 8":               "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"the identity, minus zero": "0100000000000000000000000000000000000000000000000000000000000080",
		"above the field":          "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"not a point":              "0200000000000000000000000000000000000000000000000000000000000000",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		key := wire.Key(raw)
		if body, err := e2e.Seal(a, key, wire.TypeJSON, []byte("{}")); !errors.Is(err, e2e.ErrKey) || body != nil {
			t.Errorf("%s: sealed: %v", name, err)
		}
		if err := failure(e2e.Open(b, key, []byte(sealed))); !errors.Is(err, e2e.ErrKey) {
			t.Errorf("%s: opened: %v, want %v", name, err, e2e.ErrKey)
		}
	}
}

func TestSealErrors(t *testing.T) {
	for name, err := range map[string]error{
		"too large":               sealing(wire.TypeJSON, 800_000),
		"too large with its type": sealing(wire.TypeJSON, 786_400),
	} {
		if !errors.Is(err, e2e.ErrSize) {
			t.Errorf("%s: %v, want %v", name, err, e2e.ErrSize)
		}
	}
	for _, contentType := range []string{"", "a\nb", strings.Repeat("a", 257)} {
		if err := sealing(contentType, 2); !errors.Is(err, e2e.ErrBody) {
			t.Errorf("%q: %v, want %v", contentType, err, e2e.ErrBody)
		}
	}
}

func sealing(contentType string, n int) error {
	_, err := e2e.Seal(a, keyB, contentType, make([]byte, n))
	return err
}

func TestMessages(t *testing.T) {
	for contentType, body := range map[string]string{"": `{"a": [1]}`, wire.TypeRequest: `{"action":"x","params":{},"mrp_content_type":"application/x-mrp-request+json"}`, wire.TypeText: `"a \"text\"\n"`} {
		s, err := e2e.SealSend(a, wire.Send{Recipient: keyB, ContentType: contentType, Body: []byte(body), ThreadID: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if s.ContentType != wire.TypeEncrypted || s.ThreadID != "t" || strings.Contains(string(s.Body), "text\"") {
			t.Errorf("got %+v", s)
		}
		m, err := e2e.OpenMessage(b, wire.Message{Sender: keyA, ContentType: s.ContentType, Body: s.Body, InReplyTo: "i"})
		if want := map[bool]string{true: wire.TypeJSON, false: contentType}[contentType == ""]; err != nil || m.ContentType != want ||
			string(m.Body) != body || m.InReplyTo != "i" {
			t.Errorf("%q: %+v, %v", contentType, m, err)
		}
	}
	if _, err := e2e.SealSend(a, wire.Send{Recipient: keyB, ContentType: wire.TypeText, Body: []byte(`{}`)}); !errors.Is(err, e2e.ErrBody) {
		t.Errorf("an invalid text: %v, want %v", err, e2e.ErrBody)
	}
	for name, c := range map[string]struct{ contentType, plaintext string }{
		"not JSON": {wire.TypeJSON, "{"}, "twice encrypted": {wire.TypeEncrypted, sealed}, "not UTF-8": {wire.TypeText, "\xff"},
		"nothing": {wire.TypeJSON, ""}, "a name twice": {wire.TypeJSON, `{"a":1,"a":2}`},
	} {
		body, err := e2e.Seal(a, keyB, c.contentType, []byte(c.plaintext))
		if err != nil {
			t.Fatal(err)
		}
		m := wire.Message{Sender: keyA, ContentType: wire.TypeEncrypted, Body: body}
		if m, err := e2e.OpenMessage(b, m); !errors.Is(err, e2e.ErrBody) {
			t.Errorf("%s: %+v, %v, want %v", name, m, err, e2e.ErrBody)
		}
	}
	bare := wire.Message{Sender: keyA, ContentType: wire.TypeJSON, Body: []byte(sealed)}
	if _, err := e2e.OpenMessage(b, bare); !errors.Is(err, e2e.ErrBody) {
		t.Errorf("a message that is not encrypted: %v, want %v", err, e2e.ErrBody)
	}
}

func TestBlobs(t *testing.T) {
	stored, key, err := e2e.SealBlob([]byte("what is in it"))
	if err != nil || len(stored) != len("what is in it")+e2e.Overhead {
		t.Fatal(len(stored), err)
	}
	att, err := key.Attach(a, keyB, wire.Attachment{BlobID: "blob_1"})
	if err != nil || !att.Encrypted || att.BlobID != "blob_1" || strings.ContainsAny(att.DEKEnc+att.DEKCT, "+/=") {
		t.Fatal(att, err)
	}
	if got, err := e2e.OpenBlob(b, keyA, att, bytes.Clone(stored)); err != nil || string(got) != "what is in it" {
		t.Errorf("got %q, %v", got, err)
	}
	plain, short, other := att, att, att
	plain.Encrypted, short.DEKCT = false, att.DEKCT[:20]
	other.DEKCT = att.DEKEnc[:21] + att.DEKCT[21:]
	changed := bytes.Clone(stored)
	changed[20] ^= 1
	for name, c := range map[string]struct {
		from   wire.Key
		a      wire.Attachment
		stored []byte
		want   error
	}{
		"not encrypted": {keyA, plain, stored, e2e.ErrBody}, "half a key": {keyA, short, stored, e2e.ErrBody}, "no nonce": {keyA, att, stored[:5], e2e.ErrBody},
		"another key": {keyA, other, stored, e2e.ErrOpen}, "from another": {keyB, att, stored, e2e.ErrOpen}, "changed": {keyA, att, changed, e2e.ErrOpen},
		"cut": {keyA, att, stored[:len(stored)-1], e2e.ErrOpen}, "a sender that is not a point": {wire.Key{}, att, stored, e2e.ErrKey},
	} {
		if got, err := e2e.OpenBlob(b, c.from, c.a, bytes.Clone(c.stored)); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %q, %v; want %v", name, got, err, c.want)
		}
	}
	if _, err := key.Attach(a, wire.Key{}, att); !errors.Is(err, e2e.ErrKey) {
		t.Errorf("for a key that is not a point: %v, want %v", err, e2e.ErrKey)
	}
}

// FuzzOpen checks that only the known ciphertext from A to B opens.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(sealed))
	f.Add([]byte(`{"v":1}`))
	f.Add(fmt.Appendf(nil, `{"v":2,"enc":"%s=","ct":"%s","ct_content_type":"text/plain"}`, sealedEnc, sealedCT))
	f.Fuzz(func(t *testing.T, body []byte) {
		contentType, plaintext, err := e2e.Open(b, keyA, body)
		if err != nil && (contentType != "" || plaintext != nil) || err == nil && string(plaintext) != `{"text":"secret"}` {
			t.Errorf("got %q %q %v", contentType, plaintext, err)
		}
		_, _ = e2e.OpenMessage(b, wire.Message{Sender: keyA, ContentType: wire.TypeEncrypted, Body: body})
		_, _ = e2e.OpenBlob(b, keyA, wire.Attachment{Encrypted: true, DEKEnc: contentType, DEKCT: string(plaintext)}, body)
	})
}
