package verify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// A patText is a PAT and its decoded parts. It must never become part of a finding.
type patText struct {
	text            string
	header, payload map[string]any
}

func (t patText) parts() []string { return strings.Split(t.text, ".") }

// numericDate parses a NumericDate claim. See RFC 7519, section 2.
func (t patText) numericDate(name string) (time.Time, bool) {
	n, ok := t.payload[name].(json.Number)
	if !ok {
		return time.Time{}, false
	}
	f, err := n.Float64()
	const latest = 253402300799 // the end of the year 9999
	if err != nil || f < 0 || f > latest {
		return time.Time{}, false
	}
	return time.Unix(int64(f), 0), true
}

func (v *verification) patJWT(context.Context) finding {
	parts := v.token.parts()
	if v.token.text == "" || len(parts) != 3 {
		return wrong("it has %d parts, not 3", len(parts))
	}
	for i, to := range []*map[string]any{&v.token.header, &v.token.payload} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return wrong("part %d is not base64url", i+1)
		}
		if *to, err = strictjson.DecodeObject(raw); err != nil {
			return wrong("part %d is not a JSON object", i+1)
		}
	}
	return pass
}

// algorithms are the JWS algorithms that need a key pair. See RFC 7518, section 3.1; RFC 8037, section 3.1; RFC 9864.
var algorithms = []string{
	"EdDSA", "Ed25519", "Ed448", "ES256", "ES384", "ES512", "ES256K", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
}

func (v *verification) patAlgorithm(context.Context) finding {
	alg, _ := v.token.header["alg"].(string)
	if !slices.Contains(algorithms, alg) {
		return wrong("alg is %.20q", alg)
	}
	return holds("%s", alg)
}

func (v *verification) patSignature(context.Context) finding {
	if len(v.Keys) == 0 {
		return missing("the service publishes no key that could verify it")
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA", "ES256", "RS256", "PS256"}), jwt.WithoutClaimsValidation())
	for _, key := range v.Keys {
		if _, err := parser.Parse(v.token.text, func(*jwt.Token) (any, error) { return key.Public(), nil }); err == nil {
			return holds("signed with the key %s", key.Thumbprint())
		}
	}
	return wrong("none of the %d published keys verifies it", len(v.Keys))
}

func (v *verification) patType(context.Context) finding {
	typ, _ := v.token.header["typ"].(string)
	if !strings.EqualFold(strings.TrimPrefix(typ, "application/"), pat.TypePAT) {
		return missing("typ is not %s", pat.TypePAT)
	}
	return pass
}

func (v *verification) patClaims(context.Context) finding {
	var bad []string
	for _, name := range []string{"iss", "sub", "jti"} {
		switch text, ok := v.token.payload[name].(string); {
		case v.token.payload[name] == nil:
			bad = append(bad, name+" is missing")
		case !ok || text == "":
			bad = append(bad, name+" is not a non-empty string")
		}
	}
	for _, name := range []string{"exp", "nbf"} {
		if v.token.payload[name] == nil {
			bad = append(bad, name+" is missing")
		} else if _, ok := v.token.numericDate(name); !ok {
			bad = append(bad, name+" is not a time in seconds")
		}
	}
	if v.token.payload["scope"] == nil {
		bad = append(bad, "scope is missing")
	}
	return point.WrongIfAny(bad)
}

func (v *verification) patIssuer(context.Context) finding {
	if iss := v.token.payload["iss"]; iss != v.service.Issuer() {
		return wrong("iss is %.120q, but the service is %.120q", iss, v.service.Issuer())
	}
	return pass
}

func (v *verification) patSubject(context.Context) finding {
	if sub := v.token.payload["sub"]; sub != string(v.client.AgentID()) {
		return wrong("sub is %.120q, but the agent is %.120q", sub, v.client.AgentID())
	}
	return pass
}

func (v *verification) patTimes(context.Context) finding {
	const (
		leeway  = time.Minute // between two clocks
		longest = 366 * 24 * time.Hour
	)
	now := v.Now()
	exp, _ := v.token.numericDate("exp")
	nbf, _ := v.token.numericDate("nbf")
	switch {
	case now.Add(leeway).Before(nbf):
		return wrong("it is not valid before %s", nbf.UTC().Format(time.RFC3339))
	case !exp.After(now.Add(-leeway)), !exp.After(nbf):
		return wrong("it expired at %s", exp.UTC().Format(time.RFC3339))
	case exp.Sub(now) > longest:
		return wrong("it is valid for more than a year")
	}
	return holds("valid until %s", exp.UTC().Format(time.RFC3339))
}

func (v *verification) patScope(context.Context) finding {
	list, ok := v.token.payload["scope"].([]any)
	if !ok {
		return wrong("scope is not a list")
	}
	if len(list) == 0 {
		return wrong("scope is empty")
	}
	if v.unreadIntents() {
		return skipped("not all intents can be read")
	}
	spaces := v.Catalog.Namespaces()
	var bad []string
	for _, item := range list {
		text, _ := item.(string)
		i := strings.LastIndexByte(text, ':')
		if i < 0 || text[i+1:] == "" {
			bad = append(bad, fmt.Sprintf("%.120q", text))
			continue
		}
		space, found := strings.CutSuffix(text[:i], ":*:*")
		if found && slices.Contains(spaces, space) {
			continue
		}
		if uid, err := intents.ParseUID(text[:i]); err != nil {
			bad = append(bad, fmt.Sprintf("%.120q", text))
		} else if _, offered := v.Catalog.Lookup(uid); !offered {
			bad = append(bad, text+" is not offered")
		}
	}
	return point.WrongIfAny(bad)
}

func (v *verification) patPolicy(context.Context) finding {
	text, ok := v.token.payload["pol"].(string)
	if v.token.payload["pol"] == nil {
		return missing("pol is missing")
	}
	u, usable := v.Address(text)
	if !ok || !usable && text != termOf(memberOf(v.policyTree, "uid", "@id", "id")) {
		return wrong("pol is neither a URL nor the uid of the policy")
	}
	if usable && text != v.policy.URL.String() && text != v.Catalog.PolicyFile && text != termOf(memberOf(v.policyTree, "uid", "@id", "id")) {
		return wrong("pol is %s at %s, not the policy that was signed", printable(u.Path), fetch.Origin(u))
	}
	return pass
}

func (v *verification) patLimits(context.Context) finding {
	if v.token.payload["lmt"] == nil {
		return missing("lmt is missing")
	}
	m, ok := v.token.payload["lmt"].(map[string]any)
	for _, name := range []string{"rate", "period"} {
		n, isNumber := m[name].(json.Number)
		if i, err := n.Int64(); !ok || !isNumber || err != nil || i < 0 {
			return wrong("lmt has no integer %s", name)
		}
	}
	return pass
}
