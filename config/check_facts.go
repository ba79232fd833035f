package config

import (
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// maxPointer is the maximum length of the JSON pointer of a fact, in bytes.
const maxPointer = 256

var (
	operandName = regex.Lazy(`^([A-Za-z][A-Za-z0-9]{0,63}|[a-z][a-z0-9+.-]{1,15}:[\x21-\x7e]{1,300})$`) // a local name, or an IRI
	claimName   = regex.Lazy(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	jsonPointer = regex.Lazy(`^(/([^~/]|~[01])*)+$`) // RFC 6901 3, without the empty pointer to the whole document
)

// agentsOwn are headers that cannot carry facts, because they have another meaning.
var agentsOwn = []string{"Authorization", "Cookie", "Idempotency-Key", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// checkFacts checks the sources of a service's facts. The gateway checks which facts the policy uses.
func (l *loader) checkFacts(path string, s *Service, c *Config) {
	for _, operand := range slices.Sorted(maps.Keys(s.Facts)) {
		at := path + "[" + strconv.Quote(operand) + "]"
		if !operandName().MatchString(operand) {
			l.Errorf(at, "the key is not a left operand: want a local name, such as purpose, or the IRI of a term of a profile")
		}
		if len(s.Facts[operand]) == 0 && !l.Failed(at) {
			l.Errorf(at, "has no source: want a list such as [{parameter: /%s}]", operand)
		}
		for i := range s.Facts[operand] {
			l.checkFactSource(at+"["+strconv.Itoa(i)+"]", &s.Facts[operand][i], c)
		}
	}
}

func (l *loader) checkFactSource(at string, f *FactSource, c *Config) {
	var given []string
	for name, set := range map[string]bool{
		"claim": f.Claim != "", "parameter": f.Parameter != "", "header": f.Header != "", "address": f.Address, "value": f.Value != nil,
		"agents": f.Agents != nil,
	} {
		if set {
			given = append(given, name)
		}
	}
	if len(given) != 1 {
		if l.Failed(at) {
			return
		}
		slices.Sort(given)
		l.Errorf(at, "must have exactly one of claim, parameter, header, address, value and agents%s", gave(given))
		return
	}
	switch {
	case f.Claim != "" && !claimName().MatchString(f.Claim):
		l.Errorf(at+".claim", "%s is not a claim name: want a letter, then at most 63 letters, digits and _ . -", yamlconf.Quote(f.Claim))
	case f.Parameter != "" && (len(f.Parameter) > maxPointer || !jsonPointer().MatchString(f.Parameter)):
		l.Errorf(at+".parameter", "%s is not a JSON pointer: want one such as /purpose", yamlconf.Quote(f.Parameter))
	case f.Header != "":
		l.checkFactHeader(at+".header", f, c)
	case f.Value != nil && len(f.Value) == 0:
		l.Errorf(at+".value", "is empty: want at least one value")
	}
	for _, id := range slices.Sorted(maps.Keys(f.Agents)) {
		l.agentID(at+".agents["+strconv.Quote(id)+"]", id)
		if n := len(f.Agents[id]); n == 0 || n > 64 {
			l.Errorf(at+".agents["+strconv.Quote(id)+"]", "has %d values: want 1 to 64", n)
		}
	}
}

func gave(given []string) string {
	if len(given) == 0 {
		return ""
	}
	return ", got " + strings.Join(given, " and ")
}

func (l *loader) checkFactHeader(at string, f *FactSource, c *Config) {
	name := textproto.CanonicalMIMEHeaderKey(f.Header)
	switch {
	case !fieldName().MatchString(f.Header):
		l.Errorf(at, "%s is not a header name: want letters, digits and -", yamlconf.Quote(f.Header))
	case slices.Contains(notOurs, name) || slices.Contains(agentsOwn, name) || strings.HasPrefix(name, "Uim-"):
		l.Errorf(at, "the %s header has another meaning: use another header", name)
	case len(c.Server.TrustedProxies) == 0:
		l.Errorf(at, "is trusted only from server.trusted_proxies, which is empty")
	}
	f.Header = name
}
