package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// members returns the members of a valid envelope.
func members(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(vectors(t)[1].Envelope, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMalformedMembers(t *testing.T) {
	t.Parallel()
	good := members(t)
	const user = `"user1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0sxs5jpk"`
	for name, c := range map[string]struct {
		member, value string // empty: left out
		kind          error  // wrapped besides envelope.ErrEnvelope
	}{
		"no version":                    {"version", "", nil},
		"null for the version":          {"version", "null", nil},
		"a version of text":             {"version", `"1"`, nil},
		"a version with a fraction":     {"version", "1.0", nil},
		"a version with an exponent":    {"version", "1e0", nil},
		"a version that is true":        {"version", "true", nil},
		"a huge version":                {"version", strings.Repeat("9", 30), nil},
		"no sender":                     {"sender", "", nil},
		"a number as sender":            {"sender", "1", nil},
		"an empty sender":               {"sender", `""`, identity.ErrBech32},
		"a sender with a network":       {"sender", `"agent://agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7"`, identity.ErrBech32},
		"a sender in upper case":        {"sender", strings.ToUpper(string(good["sender"])), identity.ErrBech32},
		"a signature as sender":         {"sender", string(good["signature"]), identity.ErrPrefix},
		"no target":                     {"target", "", nil},
		"a name as target":              {"target", `"shop.agent"`, identity.ErrBech32},
		"no session":                    {"session", "", nil},
		"a session of version 7":        {"session", `"6b0c1b3e-7d5a-7c6e-9f10-2a3b4c5d6e7f"`, nil},
		"a session of numbers":          {"session", "42", nil},
		"no schema digest":              {"schema_digest", "", nil},
		"a schema digest of a protocol": {"schema_digest", `"proto:` + strings.Repeat("0", 64) + `"`, nil},
		"a schema digest in upper case": {"schema_digest", `"model:` + strings.Repeat("A", 64) + `"`, nil},
		"a short schema digest":         {"schema_digest", `"model:` + strings.Repeat("0", 63) + `"`, nil},
		"another protocol digest":       {"protocol_digest", `"model:` + strings.Repeat("0", 64) + `"`, nil},
		"a list as protocol digest":     {"protocol_digest", "[]", nil},
		"an object as payload":          {"payload", `{"message":"hello"}`, nil},
		"an empty list as payload":      {"payload", `[]`, nil},
		"a number as payload":           {"payload", "1", nil},
		"expires with a fraction":       {"expires", "1893456000.0", nil},
		"expires with an exponent":      {"expires", "1e9", nil},
		"negative expires":              {"expires", "-1", nil},
		"expires of minus zero":         {"expires", "-0", nil},
		"expires beyond the year 9999":  {"expires", "253402300800", nil},
		"expires beyond 64 bits":        {"expires", "18446744073709551616", nil},
		"expires of many digits":        {"expires", strings.Repeat("9", 300), nil},
		"expires as text":               {"expires", `"1893456000"`, nil},
		"expires that is false":         {"expires", "false", nil},
		"a negative nonce":              {"nonce", "-1", nil},
		"a nonce beyond 64 bits":        {"nonce", "18446744073709551616", nil},
		"a nonce with a fraction":       {"nonce", "0.5", nil},
		"an empty signature":            {"signature", `""`, identity.ErrBech32},
		"an address as signature":       {"signature", string(good["sender"]), identity.ErrPrefix},
		"a user as signature":           {"signature", user, identity.ErrPrefix},
		"a signature in upper case":     {"signature", strings.ToUpper(string(good["signature"])), identity.ErrBech32},
		"a signature that is true":      {"signature", "true", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := maps.Clone(good)
			if m[c.member] = json.RawMessage(c.value); c.value == "" {
				delete(m, c.member)
			}
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			e, err := envelope.Parse(raw)
			at, ok := errors.AsType[*envelope.MemberError](err)
			if !ok || !errors.Is(err, envelope.ErrEnvelope) || errors.Is(err, envelope.ErrJSON) || e.Sender != "" {
				t.Fatalf("got %+v, %v", e, err)
			}
			if at.Member != c.member {
				t.Errorf("the error names %s: %v; want %v", at.Member, err, c.member)
			}
			if c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("%v; want %v", err, c.kind)
			}
			if value := strings.Trim(c.value, `"`); len(value) > 8 && strings.Contains(err.Error(), value) {
				t.Errorf("the error quotes the value: %v", err)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	good := string(vectors(t)[0].Envelope)
	inside := strings.TrimPrefix(good, "{")
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"nothing":            {"", envelope.ErrJSON},
		"text":               {"hello", envelope.ErrJSON},
		"half":               {good[:len(good)-2], envelope.ErrJSON},
		"trailing data":      {good + "{}", envelope.ErrJSON},
		"not UTF-8":          {`{"x":"` + "\xff" + `",` + inside, envelope.ErrJSON},
		"a duplicate member": {`{"expires":1,` + inside, envelope.ErrJSON},
		"U+0000":             {`{"x":"\u0000",` + inside, envelope.ErrJSON},
		"a byte order mark":  {"\xef\xbb\xbf" + good, envelope.ErrJSON},
		"too deep":           {`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "," + inside, envelope.ErrJSON},
		"too long":           {`{"x":"` + strings.Repeat("a", envelope.MaxBytes) + `",` + inside, envelope.ErrJSON},
		"null":               {"null", envelope.ErrEnvelope},
		"a list":             {"[" + good + "]", envelope.ErrEnvelope},
		"a number":           {"1", envelope.ErrEnvelope},
		"an empty object":    {"{}", envelope.ErrEnvelope},
		"another case":       {strings.Replace(good, `"sender"`, `"Sender"`, 1), envelope.ErrEnvelope},
		"the older protocol": {strings.Replace(good, `"schema_digest"`, `"protocol"`, 1), envelope.ErrEnvelope},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if e, err := envelope.Parse([]byte(c.body)); !errors.Is(err, c.want) || e.Sender != "" {
				t.Errorf("%v; want %v", err, c.want)
			}
		})
	}
}

// Parse ignores unknown members, order and spaces, and gives every spelling of a session the same digest.
func TestParseVariants(t *testing.T) {
	t.Parallel()
	good := string(vectors(t)[1].Envelope)
	want := parse(t, []byte(good))
	var tidy bytes.Buffer
	if err := json.Compact(&tidy, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"compact":                tidy.String(),
		"unknown members":        `{"x":{"y":[1,{"z":null}]},"Sender":7,` + strings.TrimPrefix(good, "{"),
		"session in braces":      strings.Replace(good, string(want.Session), "{"+strings.ToUpper(string(want.Session))+"}", 1),
		"another version":        strings.Replace(good, `"version": 1`, `"version": 2`, 1),
		"a negative version":     strings.Replace(good, `"version": 1`, `"version": -2`, 1),
		"no protocol digest":     strings.Replace(good, `"protocol_digest": null,`, "", 1),
		"with a protocol digest": strings.Replace(good, `"protocol_digest": null`, `"protocol_digest": "proto:`+strings.Repeat("0", 64)+`"`, 1),
	} {
		if name != "compact" && raw == good {
			t.Fatalf("%s: the test changed nothing", name)
		}
		e := parse(t, []byte(raw))
		if err := e.Verify(); err != nil || e.Digest() != want.Digest() {
			t.Errorf("%s: %v, or another digest", name, err)
		}
	}
}

func TestMarshalAndParse(t *testing.T) {
	t.Parallel()
	until := uint64(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	key, bob := seeded(t, "uimgate test seed"), seeded(t, "bob recovery password")
	sent := envelope.Envelope{
		Target: bob.Address(), Session: envelope.NewSession(), SchemaDigest: envelope.ModelDigest("model:" + strings.Repeat("a", 64)),
		Payload: envelope.Pack([]byte(`{"message":"hello"}`)), Expires: &until,
	}.Sign(key)
	raw, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	came := parse(t, raw)
	if err := came.Verify(); err != nil || came.Digest() != sent.Digest() || came.Sender != key.Address() || came.Version != envelope.Version {
		t.Errorf("%+v: %v", came, err)
	}
	if again, err := json.Marshal(came); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("%s\n%s, %v", raw, again, err)
	}
	if want := `{"version":1,"sender":"` + string(key.Address()) + `","target":"`; !strings.HasPrefix(string(raw), want) ||
		!strings.Contains(string(raw), `"protocol_digest":null,"payload":"eyJ`) ||
		!strings.Contains(string(raw), `"nonce":null,"signature":"sig1`) {
		t.Errorf("got %s", raw)
	}
}

// Two different valid envelopes never have the same digest: Parse rejects an envelope whose digest has its parts split differently.
func TestDigestIsUnambiguous(t *testing.T) {
	t.Parallel()
	e := parse(t, vectors(t)[2].Envelope) // without payload, expires and nonce
	e.Payload = envelope.Pack([]byte("{\"a\":1}" + strings.Repeat(" ", 8)))
	cut, tail := e.Payload[:len(e.Payload)-8], []byte(e.Payload[len(e.Payload)-8:])
	var number uint64
	for _, b := range tail {
		number = number<<8 | uint64(b)
	}
	moved := e
	moved.Payload, moved.Expires = cut, &number
	if moved.Digest() != e.Digest() {
		t.Fatal("the digests differ, so the test proves nothing")
	}
	raw, err := json.Marshal(moved)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envelope.Parse(raw); !errors.Is(err, envelope.ErrEnvelope) {
		t.Errorf("the end of the payload became expires: %v, want %v", err, envelope.ErrEnvelope)
	}
	nonce := parse(t, vectors(t)[0].Envelope)
	if nonce.Nonce, nonce.Expires = nonce.Expires, nil; nonce.Verify() != nil {
		t.Fatal("expires as nonce has another digest, so the test proves nothing")
	}
	if raw, err = json.Marshal(nonce); err != nil {
		t.Fatal(err)
	}
	if _, err := envelope.Parse(raw); !errors.Is(err, envelope.ErrEnvelope) {
		t.Errorf("a nonce in place of expires: %v, want %v", err, envelope.ErrEnvelope)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"sender":"agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7",` +
		`"target":"agent1qvjjle8dlf22ff7zsh6wr3gl8tdepzygftdxpc2vn8539ngt962a709c90s","session":"6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f",` +
		`"schema_digest":"model:29f75d79d429d3b533c9a956e3592ce146cd77443f6788ba81cb4e6f7f957e05","protocol_digest":null,` +
		`"payload":"eyJtZXNzYWdlIjoiaGVsbG8ifQ==","expires":1893456000,"nonce":42,"signature":` +
		`"sig17mtlf9pvlr9hgdlrvmqrgmhlnvlc0wumfwdj5cwxna6xp3cer29nrptejlll4kgqswywpk8eyv3z80jzgy4zwnzdw8qp90uxyrwyzvq0vh795"}`))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := envelope.Parse(raw)
		if err != nil {
			if e.Sender != "" || !errors.Is(err, envelope.ErrJSON) && !errors.Is(err, envelope.ErrEnvelope) {
				t.Errorf("got %+v, %v", e, err)
			}
			return
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := envelope.Parse(written)
		if err != nil || again.Digest() != e.Digest() || again.Signature != e.Signature || again.Version != e.Version {
			t.Errorf("%s parses as %+v, %v", written, again, err)
		}
		if now := time.Unix(1_893_455_000, 0); e.Timely(now) == nil && e.Until(now).Sub(now) > envelope.MaxAhead {
			t.Errorf("remembered until %s", e.Until(now))
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add("eyJhIjogMX0=")
	f.Add("eyJhIjog\nMX0=")
	f.Fuzz(func(t *testing.T, payload string) {
		message, err := envelope.Envelope{Payload: payload}.Message()
		if (err == nil) != (len(message) > 0) || err == nil && envelope.Pack(message) != payload {
			t.Errorf("got %q, %v", message, err)
		}
	})
}

func FuzzParseSession(f *testing.F) {
	f.Add("{6B0C1B3E-7d5a-4c6e-9f10-2a3b4c5d6e7f}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := envelope.ParseSession(text)
		again, fault := envelope.ParseSession(string(s))
		if (err == nil) == (s == "") || err == nil && (fault != nil || again != s) {
			t.Errorf("%q: %q, %v; again %q, %v", text, s, err, again, fault)
		}
	})
}
