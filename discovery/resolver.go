package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Bounds of a Resolver.
const (
	// defaultTimeout is the default time limit of one exchange with one server.
	defaultTimeout = 2 * time.Second
	// rounds is the maximum number of times that each server is tried for a name.
	rounds = 2
	// maxTimeouts is the maximum duration of a whole lookup, over all servers and names, as a multiple of Options.Timeout.
	maxTimeouts = 5
	// maxServers is the maximum number of servers that are queried.
	maxServers = 3
	maxChain   = 8 // CNAME records followed
)

// Options are the options of a Resolver. The zero Options use the system's servers.
type Options struct {
	// Servers are the addresses of recursive resolvers, with or without a port. If empty, the Resolver reads them from ResolvConf before
	// each query. At most three servers are used.
	Servers []string
	// ResolvConf is the file that lists the system's resolvers; if empty, it is /etc/resolv.conf.
	ResolvConf string
	// Timeout is the time limit of one exchange with one server; 0 means 2 s. A lookup takes at most five times as long.
	Timeout time.Duration
	// Names is the maximum number of names in the cache; 0 means 4096. If Names is negative, nothing is cached.
	Names int
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// A Resolver finds services by their domain. It is safe for concurrent use.
type Resolver struct {
	o     Options
	cache *answers
}

// New returns a Resolver. It does not send any query.
func New(o Options) *Resolver {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.ResolvConf == "" {
		o.ResolvConf = "/etc/resolv.conf"
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default if the caller sets no clock
	}
	return &Resolver{o: o, cache: newAnswers(o.Names, o.Now)}
}

// A Listing holds the facts that a domain publishes about its service.
type Listing struct {
	Service
	// Records are all UIM records of the domain. Those at _uim come first.
	Records []Record
	// Authenticated is true if the server has validated every answer with DNSSEC (the AD bit). It is only as trustworthy as the server and the
	// connection to the server. See RFC 4035, section 3.2.3; RFC 6840, section 5.8.
	Authenticated bool
	// Expires is when the first of the answers expires in the cache.
	Expires time.Time
}

// Lookup returns the facts that a domain publishes about its service. It reads the records at _uim below the domain, and takes fields that
// are missing there from the records at the domain itself. If the records at _uim contain the URL of an agents.json, Lookup ignores a
// failure to read the records at the domain itself.
//
// The error wraps ErrDomain, ErrNotFound (as ErrNoDomain or ErrNoRecords), ErrServer (possibly as ErrTimeout or ErrAnswer), ErrChain,
// ErrRecord or the cause of ctx, or is a *ConflictError. See UIM core, sections 5.1 and 5.3.
func (r *Resolver) Lookup(ctx context.Context, domain string) (Listing, error) {
	name, err := ParseDomain(domain)
	if err != nil {
		return Listing{}, err
	}
	below, apex := r.lookupBoth(ctx, name)
	if below.err != nil && !errors.Is(below.err, ErrNotFound) {
		return Listing{}, below.err
	}
	atLabel := Listing{Service: Service{Domain: name}, Authenticated: true}
	if err := atLabel.add(below); err != nil {
		return Listing{}, err
	}
	whole := atLabel
	switch {
	case apex.err == nil || errors.Is(apex.err, ErrNotFound):
		err = whole.add(apex)
	default:
		err = apex.err
	}
	if err != nil {
		if atLabel.AgentsFile != "" {
			return atLabel, nil
		}
		return Listing{}, err
	}
	if len(whole.Records) == 0 {
		if errors.Is(apex.err, ErrNoDomain) {
			return Listing{}, fmt.Errorf("%s: %w", name, ErrNoDomain)
		}
		return Listing{}, fmt.Errorf("%s: %w", name, ErrNoRecords)
	}
	return whole, nil
}

// add adds the records of one name. Fields that are already set keep their values.
func (l *Listing) add(a answer) error {
	records, err := a.consistentRecords()
	if err != nil {
		return err
	}
	l.Authenticated = l.Authenticated && a.authenticated
	if l.Expires.IsZero() || a.expires.Before(l.Expires) {
		l.Expires = a.expires
	}
	l.Records = append(slices.Clip(l.Records), records...)
	for _, r := range records {
		if v := l.field(r.Field); *v == "" {
			*v = r.Value
		}
	}
	return nil
}

// Locate looks up the URL of the agents.json that the domain publishes. It can serve as agent.Options.Locate. The errors are those of
// Lookup; without that URL, the error wraps ErrNoRecords.
func (r *Resolver) Locate(ctx context.Context, domain string) ([]string, error) {
	found, err := r.Lookup(ctx, domain)
	if err != nil {
		return nil, err
	}
	if found.AgentsFile == "" {
		return nil, fmt.Errorf("%s: %w: %s is missing", found.Domain, ErrNoRecords, AgentsFile)
	}
	return []string{found.AgentsFile}, nil
}

// Records returns the records that a domain publishes, for use with Compare: the UIM records at _uim, those at the domain itself, and
// then the records for the MCP registry. Records that contradict each other and a domain without records are not errors. All other errors
// are those of Lookup. authenticated is true if the server has validated both answers with DNSSEC.
func (r *Resolver) Records(ctx context.Context, domain string) (records []Record, authenticated bool, err error) {
	name, err := ParseDomain(domain)
	if err != nil {
		return nil, false, err
	}
	below, apex := r.lookupBoth(ctx, name)
	for _, a := range []answer{below, apex} {
		if a.err != nil && !errors.Is(a.err, ErrNotFound) {
			return nil, false, a.err
		}
		list, err := a.uimRecords()
		if err != nil {
			return nil, false, err
		}
		records = append(records, list...)
	}
	for _, text := range apex.texts {
		if proof, ok := parseProof(apex.name, text); ok {
			records = append(records, proof)
		}
	}
	return records, below.authenticated && apex.authenticated, nil
}

// lookupBoth looks up _uim and the domain itself concurrently.
func (r *Resolver) lookupBoth(ctx context.Context, domain string) (below, apex answer) {
	ctx, cancel := context.WithTimeout(ctx, maxTimeouts*r.o.Timeout)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { below = r.lookupName(ctx, draftLabel+domain+".") })
	wg.Go(func() { apex = r.lookupName(ctx, domain+".") })
	wg.Wait()
	return below, apex
}

// lookupName returns the answer for one name, from the cache or by a query. If the query fails, the answer has the error in err and is not
// cached.
func (r *Resolver) lookupName(ctx context.Context, name string) answer {
	if a, ok := r.cache.get(name); ok {
		return a
	}
	a, err := r.follow(ctx, name)
	if err != nil {
		return answer{name: name, err: err}
	}
	a.name = name
	return r.cache.put(a)
}

// follow queries the TXT records of a name. If a response ends with a CNAME record, it then queries the target of that record.
func (r *Resolver) follow(ctx context.Context, name string) (answer, error) {
	servers, err := r.servers()
	if err != nil {
		return answer{}, err
	}
	authenticated, ttl, chain := true, time.Duration(-1), newChain(name)
	for {
		m, err := r.query(ctx, servers, chain.at)
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", name, err)
		}
		a, err := readAnswer(m, chain)
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", name, err)
		}
		a.authenticated = a.authenticated && authenticated
		if ttl >= 0 {
			a.ttl = min(a.ttl, ttl)
		}
		if !a.continues {
			return a, nil
		}
		authenticated, ttl = a.authenticated, a.ttl
	}
}

// servers returns the addresses of at most maxServers servers, in the order in which they are queried.
func (r *Resolver) servers() ([]string, error) {
	list, port := r.o.Servers, "53"
	if len(list) == 0 {
		c, err := dns.ClientConfigFromFile(r.o.ResolvConf)
		if err != nil {
			return nil, fmt.Errorf("%w: cannot read the list of servers: %w", ErrServer, err)
		}
		list, port = c.Servers, c.Port
	}
	out := make([]string, 0, maxServers)
	for _, s := range list[:min(len(list), maxServers)] {
		if _, _, err := net.SplitHostPort(s); err != nil {
			s = net.JoinHostPort(s, port)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s lists no servers", ErrServer, r.o.ResolvConf)
	}
	return out, nil
}
