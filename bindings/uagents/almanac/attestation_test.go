package almanac_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// An attestation that the reference implementation signed: ALICE, one endpoint, no metadata.
const (
	alice    = "agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7"
	signedAt = 1767225600
	signed   = `{"agent_identifier":"agent://` + alice + `","protocols":["proto:30a801ed3a83f9a0ff0a9f1e6fe958cb91da1fc2218b153df7b6cbf87bd33d62"],
		"endpoints":[{"url":"http://127.0.0.1:8000/submit","weight":1}],"metadata":null,"timestamp":1767225600,
		"signature":"sig1crrlv2zemmfu7yaky9agxhe5h0dhpgm75ttt09v3r2e3rw6x367hf5zvrlvznqx3lysjrkwm5nc7433655trq4grvqr4vxdga2mpnyqs2d0zw"}`
)

func key(tb testing.TB) identity.Key {
	tb.Helper()
	k, err := identity.FromSeed("alice recovery password", 0)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func tree(tb testing.TB, text string) strictjson.Object {
	tb.Helper()
	o, err := strictjson.DecodeObject([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestReferenceAttestation(t *testing.T) {
	t.Parallel()
	now := time.Unix(signedAt, 0)
	a, err := almanac.ParseAttestation(tree(t, signed), now)
	if err != nil || a.Address != alice || a.Network != identity.Mainnet || len(a.Endpoints) != 1 || a.Endpoints[0].Weight != 1 ||
		a.Endpoints[0].URL != "http://127.0.0.1:8000/submit" || len(a.Protocols) != 1 || string(a.Metadata) != "null" || !a.At.Equal(now) {
		t.Errorf("got %+v, %v", a, err)
	}
	for name, change := range map[string]func(strictjson.Object){
		"metadata that is empty": func(o strictjson.Object) { o["metadata"] = map[string]any{} },
		"no metadata":            func(o strictjson.Object) { delete(o, "metadata") },
		"another weight": func(o strictjson.Object) {
			strictjson.AsList(o["endpoints"])[0].(map[string]any)["weight"] = json.Number("2")
		},
		"the weight as 1.0": func(o strictjson.Object) {
			strictjson.AsList(o["endpoints"])[0].(map[string]any)["weight"] = json.Number("1.0")
		},
		"another endpoint": func(o strictjson.Object) {
			strictjson.AsList(o["endpoints"])[0].(map[string]any)["url"] = "http://127.0.0.1:8001/submit"
		},
		"no protocols":         func(o strictjson.Object) { o["protocols"] = []any{} },
		"a later time":         func(o strictjson.Object) { o["timestamp"] = json.Number(strconv.Itoa(signedAt + 1)) },
		"the other network":    func(o strictjson.Object) { o["agent_identifier"] = "test-agent://" + alice },
		"an additional member": func(o strictjson.Object) { o["more"] = true },
		"another agent": func(o strictjson.Object) {
			o["agent_identifier"] = "agent1qvjjle8dlf22ff7zsh6wr3gl8tdepzygftdxpc2vn8539ngt962a709c90s"
		},
		"no signature":        func(o strictjson.Object) { delete(o, "signature") },
		"an empty address":    func(o strictjson.Object) { delete(o, "agent_identifier") },
		"a name":              func(o strictjson.Object) { o["agent_identifier"] = "shop" },
		"a time that is text": func(o strictjson.Object) { o["timestamp"] = "1767225600" },
	} {
		o := tree(t, signed)
		change(o)
		if a, err := almanac.ParseAttestation(o, now); !errors.Is(err, almanac.ErrAttestation) || a.Address != "" {
			t.Errorf("%s: got %+v, %v; want %v and Address empty", name, a, err, almanac.ErrAttestation)
		}
	}
}

func TestClockSkew(t *testing.T) {
	t.Parallel()
	for off, want := range map[time.Duration]bool{
		0: true, almanac.MaxAge: true, -almanac.MaxAge: true, almanac.MaxAge + time.Second: false, -almanac.MaxAge - time.Second: false,
		1000 * time.Hour: false,
	} {
		if _, err := almanac.ParseAttestation(tree(t, signed), time.Unix(signedAt, 0).Add(off)); (err == nil) != want {
			t.Errorf("%s later: %v", off, err)
		}
	}
}

// A signed attestation within the bounds is accepted unchanged.
func TestAttestationContent(t *testing.T) {
	t.Parallel()
	now := time.Unix(signedAt, 0)
	const digest = `"proto:30a801ed3a83f9a0ff0a9f1e6fe958cb91da1fc2218b153df7b6cbf87bd33d62"`
	endpoints := func(n int) string {
		return strings.TrimSuffix(strings.Repeat(`{"url":"http://a/","weight":1},`, n), ",")
	}
	for name, c := range map[string]struct {
		members string
		good    bool
	}{
		"nothing":               {`"endpoints":[],"protocols":[],"metadata":null`, true},
		"text in many letters":  {`"endpoints":[],"protocols":[],"metadata":{"größe":"ünïcode 🦊 </&>\u007f\u2028","b":{"z":1.50,"a":[1e5,-0]}}`, true},
		"omitted metadata":      {`"endpoints":[],"protocols":[]`, true},
		"a digest twice":        {`"endpoints":[],"protocols":[` + digest + `,` + digest + `]`, true},
		"ten endpoints":         {`"endpoints":[` + endpoints(10) + `],"protocols":[]`, true},
		"eleven endpoints":      {`"endpoints":[` + endpoints(11) + `],"protocols":[]`, false},
		"no list of endpoints":  {`"endpoints":{},"protocols":[]`, false},
		"omitted endpoints":     {`"protocols":[]`, false},
		"an endpoint as text":   {`"endpoints":["http://a/"],"protocols":[]`, false},
		"an endpoint in a file": {`"endpoints":[{"url":"file:///etc/passwd","weight":1}],"protocols":[]`, false},
		"a negative weight":     {`"endpoints":[{"url":"http://a/","weight":-1}],"protocols":[]`, false},
		"no weight":             {`"endpoints":[{"url":"http://a/"}],"protocols":[]`, false},
		"no digest":             {`"endpoints":[],"protocols":["chat"]`, false},
		"51 protocols":          {`"endpoints":[],"protocols":[` + strings.TrimSuffix(strings.Repeat(digest+",", 51), ",") + `]`, false},
		"metadata as a list":    {`"endpoints":[],"protocols":[],"metadata":[]`, false},
		"too much metadata":     {`"endpoints":[],"protocols":[],"metadata":{"a":"` + strings.Repeat("x", 8<<10) + `"}`, false},
	} {
		body, err := almanac.Attest(key(t), tree(t, `{"timestamp":1767225600,`+c.members+`}`))
		if err != nil {
			t.Fatal(err)
		}
		a, err := almanac.ParseAttestation(tree(t, string(body)), now)
		if (err == nil) != c.good || err != nil && !errors.Is(err, almanac.ErrAttestation) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a digest twice" && len(a.Protocols) != 1 {
			t.Errorf("got %v", a.Protocols)
		}
	}
}

func TestStatusStatement(t *testing.T) {
	t.Parallel()
	now := time.Unix(signedAt, 0)
	body, err := almanac.Attest(key(t), tree(t, `{"timestamp":1767225600,"is_active":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, active, err := almanac.ParseStatus(tree(t, string(body)), now); err != nil || !active || s.Address != alice {
		t.Errorf("got %+v, %t, %v; want no error, true and Address %v", s, active, err, alice)
	}
	for name, member := range map[string]any{"the reverse": false, "text": "true", "null": nil} {
		o := tree(t, string(body))
		o["is_active"] = member
		if _, _, err := almanac.ParseStatus(o, now); !errors.Is(err, almanac.ErrAttestation) {
			t.Errorf("%s: %v, want %v", name, err, almanac.ErrAttestation)
		}
	}
}

// FuzzParseAttestation looks for attestations that ALICE has not signed: each accepted attestation must be refused with an additional
// member, and with another time.
func FuzzParseAttestation(f *testing.F) {
	f.Add([]byte(signed))
	f.Add([]byte(`{"agent_address":"` + alice + `","timestamp":1e9,"signature":"sig1","endpoints":[{}],"protocols":[null],"metadata":{}}`))
	f.Add([]byte(`{"attestations":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := strictjson.DecodeObject(body)
		if err != nil {
			return
		}
		now := time.Unix(signedAt, 0)
		a, err := almanac.ParseAttestation(o, now)
		if err != nil {
			if !errors.Is(err, almanac.ErrAttestation) || a.Address != "" {
				t.Errorf("got %+v, %v; want %v and Address empty", a, err, almanac.ErrAttestation)
			}
			return
		}
		changed := maps.Clone(o)
		changed["added"] = json.Number("1")
		if _, err := almanac.ParseAttestation(changed, now); err == nil && !o.Has("added") {
			t.Error("an attestation with one more member is accepted")
		}
		again, err := almanac.Attest(key(t), o)
		if err != nil || len(a.Endpoints) > 10 || len(a.Protocols) > 50 {
			t.Errorf("got %+v, %v; want no error, Endpoints a length of at most 10 and Protocols a length of at most 50", a, err)
		}
		if _, err := almanac.ParseAttestation(tree(t, string(again)), now); err != nil {
			t.Errorf("signed by ALICE: %v", err)
		}
	})
}
