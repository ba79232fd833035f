package mrp_test

import (
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// The keys and signatures that other implementations (Node, Python) made from the seeds 00..1f and 20..3f, for noon of 5 March 2026.
const (
	keyA      = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
	keyB      = "Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc"
	alias     = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbh"
	noon      = "2026-03-05T12:00:00Z"
	body      = `{"recipient_key":"` + keyB + `","body":{"text":"hi"}}`
	bodyHash  = "XIof-pOQDDnGGRTxw4Hz6ysECXBEriLhFkks0KI9k-I"
	emptyHash = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	sigPost   = "bz6G7w0-u2ru4k6a6E7rBIkQ1yV3CYnA6Qxf5KQd3Wysfn0hw7UWtSqLaldXgADVM_UvzptOj2keoTIQD1YqCg"
	sigGet    = "U8ptbAUBew-xvV7DbZWrAyrkm4MZXH_1v7obgATH0xQWpFvry5jBYgnhbG2Odrhd-dd4tl0tTgtlZ_Z7POnuCA"
	sigSocket = "RhsQGKXIvCgnUUj81hde5H517yKVSzUK-RE6m33TXJcvuCJ33oEk1rIoCqTSMKfqAjDyd0IM3sPKioxMrQ8xDA"
)

// private returns the key of a seed of 32 bytes that count upwards from a byte.
func private(from byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = from + byte(i)
	}
	return ed25519.NewKeyFromSeed(seed)
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestKeys(t *testing.T) {
	if got := wire.KeyOf(private(0)).String(); got != keyA {
		t.Errorf("A is %s, want %s", got, keyA)
	}
	if got := wire.KeyOf(private(0x20)).String(); got != keyB {
		t.Errorf("B is %s, want %s", got, keyB)
	}
	if k, err := wire.ParseKey(keyA); err != nil || k != wire.KeyOf(private(0)) {
		t.Errorf("got %v %v", k, err)
	}
	for name, text := range map[string]string{
		"another spelling": alias, "one character less": keyA[1:], "one more": keyA + "A", "padding": keyA + "=", "nothing": "",
		"the other alphabet": strings.ReplaceAll(keyA, "_", "/"), "a line feed inside": keyA[:20] + "\n" + keyA[21:], "a line feed behind": keyA + "\n",
	} {
		if k, err := wire.ParseKey(text); err == nil {
			t.Errorf("%s: %v", name, k)
		}
	}
}

func TestDigests(t *testing.T) {
	if got := wire.Sum([]byte(body)).String(); got != bodyHash {
		t.Errorf("got %s, want %s", got, bodyHash)
	}
	if got := wire.Sum(nil).String(); got != emptyHash {
		t.Errorf("got %s, want %s", got, emptyHash)
	}
}

func TestSignatures(t *testing.T) {
	for name, c := range map[string]struct {
		method, target, body, signature string
	}{
		"a message": {"POST", "/v1/messages", body, sigPost},
		"a poll":    {"GET", "/v1/messages?limit=10", "", sigGet},
	} {
		h := http.Header{}
		wire.Sign(h, private(0), at(t, noon), c.method, c.target, wire.Sum([]byte(c.body)))
		if h.Get("X-M2M-Public-Key") != keyA || h.Get("X-M2M-Timestamp") != noon || h.Get("X-M2M-Signature") != c.signature {
			t.Errorf("%s: %v", name, h)
		}
		a, refused := wire.ReadAuth(h)
		if refused != nil {
			t.Fatalf("got %v, want nil", refused)
		}
		if refused := a.Verify(c.method, c.target, wire.Sum([]byte(c.body))); refused != nil {
			t.Errorf("%s: %v, want nil", name, refused)
		}
		for what, refused := range map[string]*wire.Error{
			"another method":   a.Verify("PUT", c.target, wire.Sum([]byte(c.body))),
			"another query":    a.Verify(c.method, c.target+"&x=1", wire.Sum([]byte(c.body))),
			"another body":     a.Verify(c.method, c.target, wire.Sum([]byte(c.body+" "))),
			"socket signature": a.VerifySocket(),
			"lowercase method": a.Verify(strings.ToLower(c.method), c.target, wire.Sum([]byte(c.body))),
		} {
			if refused == nil || refused.Code != "invalid_signature" || refused.HTTPStatus() != http.StatusUnauthorized {
				t.Errorf("%s, %s: %v", name, what, refused)
			}
		}
	}
}

func TestAuthFrame(t *testing.T) {
	f := wire.SignSocket(private(0), at(t, noon))
	if f.Type != "auth" || f.PublicKey != keyA || f.Timestamp != noon || f.Signature != sigSocket {
		t.Fatalf("got %+v; want Type %q, PublicKey %v, Timestamp %v and Signature %v", f, "auth", keyA, noon, sigSocket)
	}
	a, refused := wire.ReadAuthFrame([]byte(
		`{"type":"auth","public_key":"` + keyA + `","timestamp":"` + noon + `","signature":"` + sigSocket + `"}`))
	if refused != nil || a.VerifySocket() != nil {
		t.Errorf("got %v %v; want nil, nil", refused, a.VerifySocket())
	}
	for _, frame := range []string{
		"", "null", "[]", `{"type":"auth"}`, `{"type":"send","public_key":"` + keyA + `","timestamp":"` + noon + `","signature":"` + sigSocket + `"}`,
		`{"type":"auth","public_key":"` + alias + `","timestamp":"` + noon + `","signature":"` + sigSocket + `"}`,
	} {
		if _, refused := wire.ReadAuthFrame([]byte(frame)); refused == nil || refused.Code != "unauthorized" {
			t.Errorf("%s: %v", frame, refused)
		}
	}
}

func TestReadAuthErrors(t *testing.T) {
	good := http.Header{"X-M2m-Public-Key": {keyA}, "X-M2m-Timestamp": {noon}, "X-M2m-Signature": {sigPost}}
	if _, refused := wire.ReadAuth(good); refused != nil {
		t.Fatalf("got %v, want nil", refused)
	}
	for name, change := range map[string]func(http.Header){
		"no key":                            func(h http.Header) { h.Del("X-M2M-Public-Key") },
		"no timestamp":                      func(h http.Header) { h.Del("X-M2M-Timestamp") },
		"no signature":                      func(h http.Header) { h.Del("X-M2M-Signature") },
		"two keys":                          func(h http.Header) { h.Add("X-M2M-Public-Key", keyB) },
		"two signatures":                    func(h http.Header) { h.Add("X-M2M-Signature", sigPost) },
		"another spelling of the key":       func(h http.Header) { h.Set("X-M2M-Public-Key", alias) },
		"another spelling of the signature": func(h http.Header) { h.Set("X-M2M-Signature", sigPost[:85]+"h") },
		"half a signature":                  func(h http.Header) { h.Set("X-M2M-Signature", sigPost[:43]) },
		"a date":                            func(h http.Header) { h.Set("X-M2M-Timestamp", "2026-03-05") },
		"a comma for the fraction":          func(h http.Header) { h.Set("X-M2M-Timestamp", "2026-03-05T12:00:00,5Z") },
		"an hour of one digit":              func(h http.Header) { h.Set("X-M2M-Timestamp", "2026-03-05T9:00:00Z") },
		"seconds since 1970":                func(h http.Header) { h.Set("X-M2M-Timestamp", "1772712000") },
		"a long timestamp":                  func(h http.Header) { h.Set("X-M2M-Timestamp", "2026-03-05T12:00:00."+strings.Repeat("0", 60)+"Z") },
	} {
		h := good.Clone()
		change(h)
		if _, refused := wire.ReadAuth(h); refused == nil || refused.Code != "unauthorized" || refused.HTTPStatus() != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

func TestTimestamps(t *testing.T) {
	now := at(t, noon)
	for text, in := range map[string]bool{
		noon: true, "2026-03-05T12:00:00.123456789Z": true, "2026-03-05T13:00:00+01:00": true,
		"2026-03-05T11:55:00Z": true, "2026-03-05T11:55:01Z": true, "2026-03-05T11:54:59Z": false,
		"2026-03-05T12:05:00Z": true, "2026-03-05T12:04:59Z": true, "2026-03-05T12:05:01Z": false,
		"0000-01-01T00:00:00Z": false, "9999-12-31T23:59:59Z": false, "2026-03-05T12:00:00+23:59": false,
	} {
		a, refused := wire.NewAuth(keyA, text, sigPost)
		if refused != nil {
			t.Fatalf("%s: %v, want nil", text, refused)
		}
		if refused := a.InTime(now, wire.Tolerance); (refused == nil) != in || refused != nil && refused.Code != "timestamp_expired" {
			t.Errorf("%s: %v", text, refused)
		}
	}
}

func TestWebhookSignatures(t *testing.T) {
	const text, want = `{"delivery_id":"dlv_a1b2c3d4e5f6"}`, "f48bc4240ab4f7633b842f84842d7fdb8848ced2b7897bc1a5aec2f6ddad7d03"
	_, secret, refused := wire.ReadWebhook([]byte(`{"url":"https://a.example/in","secret":"QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl8"}`))
	if refused != nil {
		t.Fatalf("got %v, want nil", refused)
	}
	if got := wire.SignDelivery(secret, []byte(text)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !wire.VerifyDelivery(secret, []byte(text), want) {
		t.Error("a valid delivery is refused")
	}
	for name, signature := range map[string]string{
		"of the undecoded secret": "fda820245935f785b3bd31620328ca80fef402ed8920b94bd22a091f3aea043a", "none": "", "half": want[:32], "no hex": "x" + want[1:],
	} {
		if wire.VerifyDelivery(secret, []byte(text), signature) {
			t.Errorf("%s is accepted", name)
		}
	}
	if wire.VerifyDelivery(secret, []byte(text+" "), want) {
		t.Error("another body is accepted")
	}
}
