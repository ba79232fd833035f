package discovery

import (
	"fmt"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// An answer is what DNS says of one name.
type answer struct {
	name       string
	texts      []string // of the TXT records, each joined
	err        error    // ErrNoDomain, ErrNoRecords, or why nothing is known
	secure     bool     // validated by the server
	ttl        time.Duration
	expires    time.Time
	unfinished bool // the CNAME records lead on, out of the message
}

// parse reads the UIM records, each once.
func (a answer) parse() ([]Record, error) {
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

// records are the UIM records, which must not contradict each other.
func (a answer) records() ([]Record, error) {
	list, err := a.parse()
	if err != nil {
		return nil, err
	}
	said := map[Field]string{}
	for _, r := range list {
		if before, ok := said[r.Field]; ok && before != r.Value {
			return nil, &ConflictError{Name: a.name, Field: r.Field, Values: [2]string{min(before, r.Value), max(before, r.Value)}}
		}
		said[r.Field] = r.Value
	}
	return list, nil
}

// A chain is how far the CNAME records of a name have led.
type chain struct {
	at   string // canonical
	seen map[string]bool
}

func newChain(name string) *chain {
	at := dns.CanonicalName(name)
	return &chain{at: at, seen: map[string]bool{at: true}}
}

func (c *chain) step(target string) error {
	target = dns.CanonicalName(target)
	if c.seen[target] {
		return fmt.Errorf("%w: they lead in a circle", ErrChain)
	}
	if len(c.seen) > maxChain {
		return fmt.Errorf("%w: there are more than %d", ErrChain, maxChain)
	}
	c.at = target
	c.seen[target] = true
	return nil
}

// readAnswer reads the TXT records of the name that the chain has come to, following CNAME records. What
// the message says of other names is ignored. The error wraps ErrServer or ErrChain.
func readAnswer(m *dns.Msg, c *chain) (answer, error) {
	a := answer{secure: m.AuthenticatedData, ttl: maxTTL}
	switch m.Rcode {
	case dns.RcodeSuccess, dns.RcodeNameError:
	default:
		return answer{}, fmt.Errorf("%w: %s", ErrServer, rcode(m.Rcode))
	}
	if m.Rcode == dns.RcodeSuccess && len(m.Answer) == 0 && !m.Authoritative && !m.RecursionAvailable {
		return answer{}, fmt.Errorf("%w: it only refers to other servers: a recursive or authoritative one is needed", ErrServer)
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
		a.ttl = min(a.ttl, seconds(alias.Hdr.Ttl))
		if err := c.step(alias.Target); err != nil {
			return answer{}, err
		}
	}
	for _, rr := range texts[c.at] {
		a.ttl = min(a.ttl, seconds(rr.Hdr.Ttl))
		var b strings.Builder
		for _, s := range rr.Txt {
			b.WriteString(unescaped(s))
		}
		a.texts = append(a.texts, b.String())
	}
	switch {
	case len(a.texts) > 0:
		return a, nil
	case m.Rcode == dns.RcodeNameError:
		a.err = ErrNoDomain
	case c.at != start:
		a.unfinished = true
		return a, nil
	default:
		a.err = ErrNoRecords
	}
	a.ttl = min(a.ttl, negative(m))
	return a, nil
}

// negative is how long it holds that there is nothing: RFC 2308 5. Without SOA it is not remembered.
func negative(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(seconds(soa.Hdr.Ttl), seconds(soa.Minttl), maxNegativeTTL)
		}
	}
	return 0
}

// seconds is a TTL. One with the highest bit set counts as 0: RFC 2181 8.
func seconds(ttl uint32) time.Duration {
	if ttl >= 1<<31 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

func rcode(code int) string {
	if name, ok := dns.RcodeToString[code]; ok {
		return name
	}
	return fmt.Sprintf("RCODE %d", code)
}
