package discovery

import (
	"fmt"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// An answer is the result of querying one name.
type answer struct {
	name          string
	texts         []string // one for each TXT record, its strings joined
	err           error    // ErrNoDomain, ErrNoRecords, or the error of the query
	authenticated bool     // validated by the server
	ttl           time.Duration
	expires       time.Time
	continues     bool // the CNAME records lead to a name that the message has no records for
}

// uimRecords returns the UIM records without duplicates. If one is malformed, the error wraps ErrRecord.
func (a answer) uimRecords() ([]Record, error) {
	var out []Record
	seen := map[Record]bool{}
	for _, text := range a.texts {
		r, ours, err := parseRecord(a.name, text)
		if err != nil {
			return nil, err
		}
		if ours && !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	return out, nil
}

// consistentRecords returns the UIM records without duplicates. If one is malformed, the error wraps ErrRecord. If two contradict each
// other, the error is a *ConflictError.
func (a answer) consistentRecords() ([]Record, error) {
	list, err := a.uimRecords()
	if err != nil {
		return nil, err
	}
	values := map[Field]string{}
	for _, r := range list {
		if first, ok := values[r.Field]; ok && first != r.Value {
			return nil, &ConflictError{Name: a.name, Field: r.Field, Values: [2]string{min(first, r.Value), max(first, r.Value)}}
		}
		values[r.Field] = r.Value
	}
	return list, nil
}

// A chain follows the CNAME records of a name.
type chain struct {
	at   string // the current name, in canonical form
	seen map[string]bool
}

func newChain(name string) *chain {
	at := dns.CanonicalName(name)
	return &chain{at: at, seen: map[string]bool{at: true}}
}

func (c *chain) step(target string) error {
	target = dns.CanonicalName(target)
	if c.seen[target] {
		return fmt.Errorf("%w: they form a loop", ErrChain)
	}
	if len(c.seen) > maxChain {
		return fmt.Errorf("%w: there are more than %d", ErrChain, maxChain)
	}
	c.at = target
	c.seen[target] = true
	return nil
}

// readAnswer follows the CNAME records of m from the current name of the chain, and returns the TXT records of the name where they end. It
// moves the chain to that name. It ignores records of other names. If m has no TXT records of that name, the answer has ErrNoDomain or
// ErrNoRecords in err, or has continues set. The error wraps ErrServer or ErrChain.
func readAnswer(m *dns.Msg, c *chain) (answer, error) {
	a := answer{authenticated: m.AuthenticatedData, ttl: maxTTL}
	switch m.Rcode {
	case dns.RcodeSuccess, dns.RcodeNameError:
	default:
		return answer{}, fmt.Errorf("%w: %s", ErrServer, rcodeName(m.Rcode))
	}
	if m.Rcode == dns.RcodeSuccess && len(m.Answer) == 0 && !m.Authoritative && !m.RecursionAvailable {
		return answer{}, fmt.Errorf("%w: the response only refers to other servers: use a recursive or an authoritative server", ErrServer)
	}
	aliases := map[string]*dns.CNAME{}
	texts := map[string][]*dns.TXT{}
	for _, rr := range m.Answer {
		owner := dns.CanonicalName(rr.Header().Name)
		switch rr := rr.(type) {
		case *dns.CNAME:
			if aliases[owner] == nil {
				aliases[owner] = rr
			}
		case *dns.TXT:
			if rr.Hdr.Class == dns.ClassINET {
				texts[owner] = append(texts[owner], rr)
			}
		}
	}
	start := c.at
	for len(texts[c.at]) == 0 && aliases[c.at] != nil {
		alias := aliases[c.at]
		a.ttl = min(a.ttl, ttlDuration(alias.Hdr.Ttl))
		if err := c.step(alias.Target); err != nil {
			return answer{}, err
		}
	}
	for _, rr := range texts[c.at] {
		a.ttl = min(a.ttl, ttlDuration(rr.Hdr.Ttl))
		var b strings.Builder
		for _, s := range rr.Txt {
			b.WriteString(unescape(s))
		}
		a.texts = append(a.texts, b.String())
	}
	switch {
	case len(a.texts) > 0:
		return a, nil
	case m.Rcode == dns.RcodeNameError:
		a.err = ErrNoDomain
	case c.at != start:
		a.continues = true
		return a, nil
	default:
		a.err = ErrNoRecords
	}
	a.ttl = min(a.ttl, negativeTTL(m))
	return a, nil
}

// negativeTTL returns how long the absence of records may be cached (RFC 2308 5), at most maxNegativeTTL. It returns 0 if m has no SOA
// record.
func negativeTTL(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(ttlDuration(soa.Hdr.Ttl), ttlDuration(soa.Minttl), maxNegativeTTL)
		}
	}
	return 0
}

// ttlDuration converts a TTL in seconds. A TTL with the highest bit set counts as 0 (RFC 2181 8).
func ttlDuration(ttl uint32) time.Duration {
	if ttl >= 1<<31 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

func rcodeName(code int) string {
	if name, ok := dns.RcodeToString[code]; ok {
		return name
	}
	return fmt.Sprintf("RCODE %d", code)
}
