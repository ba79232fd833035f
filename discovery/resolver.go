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
	// defaultTimeout bounds one exchange with one server.
	defaultTimeout = 2 * time.Second
	// rounds is how often each server is asked at most: once, and once again.
	rounds = 2
	// wholes is how many timeouts a whole lookup may take, however many servers and names are asked.
	wholes     = 5
	maxServers = 3
	maxChain   = 8 // CNAME records followed
)

// Options say whom a Resolver asks. The zero Options are fit for use.
type Options struct {
	// Servers are addresses of recursive resolvers, with or without port. Empty: those that ResolvConf
	// names, read again for each lookup. At most three are asked.
	Servers []string
	// ResolvConf is the system's list of resolvers; empty is /etc/resolv.conf.
	ResolvConf string
	// Timeout bounds one exchange with one server; 0 is 2 s. A lookup takes at most five of them.
	Timeout time.Duration
	// Names is how many names are remembered; 0 is 4096, less than 0 none.
	Names int
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// A Resolver finds services by their domain. It is safe for concurrent use.
type Resolver struct {
	o     Options
	cache *cache
}

// New makes a Resolver. It asks nobody.
func New(o Options) *Resolver {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.ResolvConf == "" {
		o.ResolvConf = "/etc/resolv.conf"
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one place where the caller leaves the clock to us
	}
	return &Resolver{o: o, cache: newCache(o.Names, o.Now)}
}

// Found is what a domain says of its service.
type Found struct {
	Service
	// Records are all UIM records of the domain, those at _uim first.
	Records []Record
	// Authenticated says that the server asked has validated every answer by DNSSEC (the AD bit). It means
	// as much as the server and the way to it can be trusted. RFC 4035 3.2.3, RFC 6840 5.8.
	Authenticated bool
	// Expires is when the first of the answers should be asked for again.
	Expires time.Time
}

// Lookup asks what a domain says of its service: the records at _uim below it, and where those are silent
// the ones at the domain itself. Records that are none of UIM's are ignored, repeated ones count once.
// Trouble at the domain itself is none where _uim names an agents.json. Errors: ErrDomain; ErrNotFound
// (ErrNoDomain or ErrNoRecords); ErrServer (also ErrTimeout, ErrAnswer); ErrChain; ErrRecord; a
// *ConflictError; the cause of ctx. UIM core 5.1, 5.3.
func (r *Resolver) Lookup(ctx context.Context, domain string) (Found, error) {
	name, err := ParseDomain(domain)
	if err != nil {
		return Found{}, err
	}
	below, apex := r.both(ctx, name)
	if below.err != nil && !errors.Is(below.err, ErrNotFound) {
		return Found{}, below.err
	}
	found := Found{Service: Service{Domain: name}, Authenticated: true}
	if err := found.take(below); err != nil {
		return Found{}, err
	}
	sufficient := found.AgentsFile != ""
	whole := found
	switch {
	case apex.err == nil || errors.Is(apex.err, ErrNotFound):
		err = whole.take(apex)
	default:
		err = apex.err
	}
	if err != nil {
		if sufficient {
			return found, nil
		}
		return Found{}, err
	}
	if len(whole.Records) == 0 {
		if errors.Is(apex.err, ErrNoDomain) {
			return Found{}, fmt.Errorf("%s: %w", name, ErrNoDomain)
		}
		return Found{}, fmt.Errorf("%s: %w", name, ErrNoRecords)
	}
	return whole, nil
}

// take adds what one name says. What is said already holds.
func (f *Found) take(a answer) error {
	records, err := a.records()
	if err != nil {
		return err
	}
	f.Authenticated = f.Authenticated && a.secure
	if f.Expires.IsZero() || a.expires.Before(f.Expires) {
		f.Expires = a.expires
	}
	f.Records = append(slices.Clip(f.Records), records...)
	for _, r := range records {
		if v := f.value(r.Field); *v == "" {
			*v = r.Value
		}
	}
	return nil
}

// Locate is Lookup for agent.Options.Locate: the URL of the agents.json that the domain names.
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

// Published are the UIM records that a domain has, for Compare: those at _uim and those at the domain
// itself, also where they contradict each other; none where there are none. Errors are those of Lookup
// without ErrNotFound and ErrConflict.
func (r *Resolver) Published(ctx context.Context, domain string) (records []Record, authenticated bool, err error) {
	name, err := ParseDomain(domain)
	if err != nil {
		return nil, false, err
	}
	below, apex := r.both(ctx, name)
	for _, a := range []answer{below, apex} {
		if a.err != nil && !errors.Is(a.err, ErrNotFound) {
			return nil, false, a.err
		}
		list, err := a.parse()
		if err != nil {
			return nil, false, err
		}
		records = append(records, list...)
	}
	return records, below.secure && apex.secure, nil
}

// both asks for _uim and for the domain itself at once.
func (r *Resolver) both(ctx context.Context, domain string) (below, apex answer) {
	ctx, cancel := context.WithTimeout(ctx, wholes*r.o.Timeout)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { below = r.name(ctx, label+domain+".") })
	wg.Go(func() { apex = r.name(ctx, domain+".") })
	wg.Wait()
	return below, apex
}

// name says what one name says, remembered or asked for. An error is in the answer.
func (r *Resolver) name(ctx context.Context, name string) answer {
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

// follow asks for the TXT records of a name until its CNAME records have led to them.
func (r *Resolver) follow(ctx context.Context, name string) (answer, error) {
	servers, err := r.servers()
	if err != nil {
		return answer{}, err
	}
	secure, ttl, chain := true, time.Duration(-1), newChain(name)
	for {
		m, err := r.ask(ctx, servers, chain.at)
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", name, err)
		}
		a, err := readAnswer(m, chain)
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", name, err)
		}
		a.secure = a.secure && secure
		if ttl >= 0 {
			a.ttl = min(a.ttl, ttl)
		}
		if !a.unfinished {
			return a, nil
		}
		secure, ttl = a.secure, a.ttl
	}
}

// servers are the addresses to ask, in order.
func (r *Resolver) servers() ([]string, error) {
	list, port := r.o.Servers, "53"
	if len(list) == 0 {
		c, err := dns.ClientConfigFromFile(r.o.ResolvConf)
		if err != nil {
			return nil, fmt.Errorf("%w: none is known: %w", ErrServer, err)
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
		return nil, fmt.Errorf("%w: %s names none", ErrServer, r.o.ResolvConf)
	}
	return out, nil
}
