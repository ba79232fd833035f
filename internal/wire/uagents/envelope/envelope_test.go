package envelope_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

type vector struct {
	Name, Seed, Digest, RS, High, Message string
	Envelope                              json.RawMessage
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v []vector
	if err := json.Unmarshal(text, &v); err != nil || len(v) == 0 {
		t.Fatalf("the vectors: %v", err)
	}
	return v
}

func parse(t *testing.T, raw []byte) envelope.Envelope {
	t.Helper()
	e, err := envelope.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func seeded(t *testing.T, seed string) identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestEnvelopeVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			e := parse(t, v.Envelope)
			if d := e.Digest(); hex.EncodeToString(d[:]) != v.Digest {
				t.Errorf("the digest is %x; want %s", d, v.Digest)
			}
			if err := e.Verify(); err != nil {
				t.Error(err)
			}
			if hex.EncodeToString(e.Signature[:]) != v.RS {
				t.Errorf("the signature is %x", e.Signature)
			}
			if signed := e.Sign(seeded(t, v.Seed)); signed.Signature != e.Signature || signed.Sender != e.Sender {
				t.Errorf("we sign %s for %s", signed.Signature, signed.Sender)
			}
			if v.Message != "" {
				if message, err := e.Message(); string(message) != v.Message || envelope.Pack(message) != e.Payload {
					t.Errorf("got %s, %v", message, err)
				}
			}
			if v.High == "" {
				return
			}
			high, err := identity.ParseSignature(v.High)
			if err != nil {
				t.Fatal(err)
			}
			again := e
			again.Signature = high
			if err := again.Verify(); err != nil || again.Digest() != e.Digest() {
				t.Errorf("with the other s: %v, or another digest", err)
			}
		})
	}
}

func TestSignedMembers(t *testing.T) {
	t.Parallel()
	all := vectors(t)
	e, other := parse(t, all[1].Envelope), parse(t, all[4].Envelope)
	later, another := *e.Expires+1, *e.Nonce+1
	for name, change := range map[string]func(*envelope.Envelope){
		"the sender":        func(e *envelope.Envelope) { e.Sender = other.Sender },
		"the target":        func(e *envelope.Envelope) { e.Target = e.Sender },
		"the session":       func(e *envelope.Envelope) { e.Session = envelope.NewSession() },
		"the schema digest": func(e *envelope.Envelope) { e.SchemaDigest = "model:" + envelope.ModelDigest(strings.Repeat("0", 64)) },
		"the payload":       func(e *envelope.Envelope) { e.Payload = envelope.Pack([]byte(`{"message": "hallo"}`)) },
		"no payload":        func(e *envelope.Envelope) { e.Payload = "" },
		"expires":           func(e *envelope.Envelope) { e.Expires = &later },
		"no expires":        func(e *envelope.Envelope) { e.Expires = nil },
		"the nonce":         func(e *envelope.Envelope) { e.Nonce = &another },
		"no nonce":          func(e *envelope.Envelope) { e.Nonce = nil },
		"the signature":     func(e *envelope.Envelope) { e.Signature = other.Signature },
	} {
		changed := e
		change(&changed)
		if err := changed.Verify(); !errors.Is(err, envelope.ErrSignature) {
			t.Errorf("with %s changed: %v, want %v", name, err, envelope.ErrSignature)
		}
	}
	free := e
	free.Version, free.ProtocolDigest = 7, "proto:"+envelope.ProtocolDigest(strings.Repeat("0", 64))
	if err := free.Verify(); err != nil || free.Digest() != e.Digest() {
		t.Errorf("version and protocol digest are not signed: %v", err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	e := parse(t, vectors(t)[0].Envelope)
	unsigned := e
	unsigned.Signature = identity.Signature{}
	someone := e
	someone.Sender = identity.NewUser([32]byte{1})
	another := e.Sign(seeded(t, "bob recovery password"))
	another.Sender = e.Sender
	anonymous := someone
	anonymous.Signature = identity.Signature{}
	for name, c := range map[string]struct {
		e    envelope.Envelope
		want error
	}{
		"an agent without signature": {unsigned, envelope.ErrUnsigned},
		"a user with a signature":    {someone, envelope.ErrAnonymous},
		"a user without signature":   {anonymous, envelope.ErrAnonymous},
		"no sender":                  {envelope.Envelope{}, envelope.ErrAnonymous},
		"signed by another":          {another, envelope.ErrSignature},
	} {
		if err := c.e.Verify(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
		if c.e.Sender == "" {
			continue
		}
		raw, err := json.Marshal(c.e)
		if err != nil {
			t.Fatal(err)
		}
		if err := parse(t, raw).Verify(); !errors.Is(err, c.want) {
			t.Errorf("%s, as JSON: %v; want %v", name, err, c.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	at := func(s uint64) *uint64 { return &s }
	now := time.Unix(1_893_456_000, 500_000_000)
	for name, c := range map[string]struct {
		expires *uint64
		want    error
		until   time.Time
	}{
		"never":                 {nil, nil, now.Add(15 * time.Minute)},
		"in a second":           {at(1_893_456_001), nil, time.Unix(1_893_456_001, 0)},
		"in this second":        {at(1_893_456_000), envelope.ErrExpired, time.Unix(1_893_456_000, 0)},
		"long ago":              {at(0), envelope.ErrExpired, time.Unix(0, 0)},
		"in a day":              {at(1_893_456_000 + 86_400), nil, time.Unix(1_893_456_000+86_400, 0)},
		"in more than a day":    {at(1_893_456_000 + 86_401), envelope.ErrTooFar, time.Unix(1_893_456_000+86_401, 0)},
		"at the end of time":    {at(1<<64 - 1), envelope.ErrTooFar, time.Unix(253402300799, 0)},
		"where int64 overflows": {at(1 << 63), envelope.ErrTooFar, time.Unix(253402300799, 0)},
	} {
		e := envelope.Envelope{Expires: c.expires}
		if err := e.Timely(now); !errors.Is(err, c.want) || !e.Until(now).Equal(c.until) {
			t.Errorf("%s: %v, until %s; want %v, %s", name, err, e.Until(now), c.want, c.until)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ payload, want string }{
		"an object":                {"eyJhIjogMX0=", `{"a": 1}`},
		"without spaces":           {"eyJhIjoxfQ==", `{"a":1}`},
		"more than ASCII":          {"eyJhIjoiw6kifQ==", `{"a":"é"}`},
		"none":                     {"", ""},
		"no padding":               {"eyJhIjoxfQ", ""},
		"too little padding":       {"eyJhIjoxfQ=", ""},
		"too much padding":         {"eyJhIjogMX0==", ""},
		"bits after the last byte": {"eyJhIjogMX1=", ""},
		"a line break":             {"eyJhIjog\nMX0=", ""},
		"a line break at the end":  {"eyJhIjogMX0=\n", ""},
		"carriage return":          {"eyJhIjog\r\nMX0=", ""},
		"a space":                  {"eyJhIjog MX0=", ""},
		"the alphabet of URLs":     {"eyJhIjoi_-8ifQ==", ""},
		"not base64":               {`{"a":1}`, ""},
		"not UTF-8":                {envelope.Pack([]byte("{\"a\":\"\xff\"}")), ""},
	} {
		message, err := envelope.Envelope{Payload: c.payload}.Message()
		if string(message) != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, envelope.ErrPayload) {
			t.Errorf("%s: %q, %v; want %q", name, message, err, c.want)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	const want = "6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f"
	plain := strings.ReplaceAll(want, "-", "")
	for _, text := range []string{
		want, strings.ToUpper(want), plain, strings.ToUpper(plain), "{" + want + "}", "urn:uuid:" + want, "URN:UUID:" + strings.ToUpper(want),
	} {
		if s, err := envelope.ParseSession(text); s != want || err != nil {
			t.Errorf("%s: %s, %v; want %v, nil", text, s, err, want)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "version 1": "6b0c1b3e-7d5a-1c6e-9f10-2a3b4c5d6e7f", "version 7": "6b0c1b3e-7d5a-7c6e-9f10-2a3b4c5d6e7f",
		"nil": "00000000-0000-0000-0000-000000000000", "max": "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"another variant": "6b0c1b3e-7d5a-4c6e-cf10-2a3b4c5d6e7f", "variant of old": "6b0c1b3e-7d5a-4c6e-7f10-2a3b4c5d6e7f",
		"other braces": "(" + want + ")", "one brace": "{" + want + " ", "hyphens elsewhere": "6b0c1b3e7-d5a-4c6e-9f10-2a3b4c5d6e7f",
		"one hyphen": plain[:8] + "-" + plain[8:], "a space": want + " ", "no hex": "6b0c1b3g-7d5a-4c6e-9f10-2a3b4c5d6e7f", "short": want[1:],
		"other urn": "urn:oid::" + want, "braces without hyphens": "{" + plain + "}",
	} {
		if s, err := envelope.ParseSession(text); s != "" || err == nil {
			t.Errorf("%s: %s parses as %s", name, text, s)
		}
	}
	if s := envelope.NewSession(); s == envelope.NewSession() || len(s) != len(want) {
		t.Errorf("got %s", s)
	}
}
