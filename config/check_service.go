package config

import (
	"maps"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

var (
	serviceID = regex.Lazy(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	fieldName = regex.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$") // RFC 9110 5.6.2
	issuer    = regex.Lazy(`^[\x21-\x7e]{1,253}$`)
	uid       = regex.Lazy(`^[^\s:]+:[^\s:]+:[^\s:]+$`)
)

// claims gives, for each name that only one service may have, the index of that service. Each key is a kind of name, such
// as "host", "id" or "issuer", a space and the name.
type claims map[string]int

// checkServices checks each service and the values that must differ between services.
func (l *loader) checkServices(c *Config) {
	if l.Has("services") && len(c.Services) == 0 && !l.Failed("services") {
		l.Errorf("services", "is empty: a gateway needs at least one service")
	}
	l.checkUnserved(c)
	taken := claims{}
	for i := range c.Services {
		taken["now "+c.Services[i].ID] = i
	}
	for i := range c.Services {
		s, path := &c.Services[i], "services["+strconv.Itoa(i)+"]"
		named := l.Has(path + ".id")
		if !serviceID().MatchString(s.ID) {
			l.Errorf(path+".id", "%s is not a service id: want lower-case letters, digits, and . _ - between them, at most 63", yamlconf.Quote(s.ID))
		}
		l.checkFormerly(path+".formerly", s, taken, i)
		if len(c.Services) > 1 {
			l.checkShared(path, s, named)
			l.claim(taken, "id", s.ID, path+".id", i, named)
		}
		l.checkHosts(path, s, taken, i)
		l.readInto(path+".agents_file", &s.AgentsFile, MaxAgentsFile, false)
		l.checkPolicies(path, s)
		l.readInto(path+".policy_rego", &s.PolicyRego, maxRegoFile, false)
		l.readProfiles(path+".profiles", s.Profiles)
		l.checkPublicURL(path, s, c)
		if s.Issuer != "" {
			if !issuer().MatchString(s.Issuer) {
				l.Errorf(path+".issuer", "is not an issuer: want a name or URL without spaces, at most 253 characters")
			}
			l.claim(taken, "issuer", s.Issuer, path+".issuer", i, true)
		}
		l.checkUpstream(path+".upstream", &s.Upstream)
		l.checkInvoices(path+".invoices", &s.Invoices)
		if s.Upstream.MCP.IsSet() && s.PublishUpstream {
			l.Errorf(path+".publish_upstream", "has no meaning with upstream.mcp: agents cannot call the MCP server themselves")
		}
		l.checkParties(path, s, &c.PAT)
		l.checkIntents(path+".intents", s)
		l.checkFixed(path+".fixed", s.Fixed)
		l.checkErrorWhen(path+".error_when", s.ErrorWhen)
		l.checkFacts(path+".facts", s, c)
		l.checkBlocks(path+".doors", c.blocks.Doors, s.Doors, c, i)
	}
}

// checkFormerly rejects a former id that is not a service id, that is the id of a service in this configuration, or that is also the former
// id of another service.
func (l *loader) checkFormerly(path string, s *Service, taken claims, i int) {
	if s.Formerly == "" {
		return
	}
	if !serviceID().MatchString(s.Formerly) {
		l.Errorf(path, "%s is not a service id", yamlconf.Quote(s.Formerly))
		return
	}
	if now, is := taken["now "+s.Formerly]; is {
		l.Errorf(path, "%s is now the id of services[%d], which keeps its state", yamlconf.Quote(s.Formerly), now)
		return
	}
	l.claim(taken, "former id", s.Formerly, path, i, true)
}

// checkUnserved rejects entries of unserved that are not service ids, and those that are the id or the former id of a service.
func (l *loader) checkUnserved(c *Config) {
	for i, id := range c.Unserved {
		served := slices.ContainsFunc(c.Services, func(s Service) bool { return s.ID == id || s.Formerly == id })
		switch path := "unserved[" + strconv.Itoa(i) + "]"; {
		case !serviceID().MatchString(id):
			l.Errorf(path, "%s is not a service id", yamlconf.Quote(id))
		case served:
			l.Errorf(path, "%s is the id or the former id of a service in this file: omit it here", yamlconf.Quote(id))
		}
	}
}

// readProfiles reads the files of vocabularies. A name without a dot, slash or backslash is a built-in vocabulary.
func (l *loader) readProfiles(path string, list []File) {
	for i := range list {
		if strings.ContainsAny(list[i].Path, `./\`) {
			l.readInto(path+"["+strconv.Itoa(i)+"]", &list[i], maxProfile, false)
		}
	}
}

func (l *loader) claim(taken claims, kind, value, path string, i int, given bool) {
	key := kind + " " + value
	first, twice := taken[key]
	if !twice {
		taken[key] = i
		return
	}
	if given {
		l.Errorf(path, "%s %s already belongs to services[%d]: give each service a different one", kind, yamlconf.Quote(value), first)
	}
}

func (l *loader) checkShared(path string, s *Service, named bool) {
	if !named {
		l.Errorf(path+".id", "is required if there are several services; if this service had no id before, set id: default to keep its agents and accounts")
	}
	if len(s.Hosts) == 0 && !l.Failed(path+".hosts") {
		l.Errorf(path+".hosts", "is required if there are several services: the host of a request selects the service")
	}
}

func (l *loader) checkHosts(path string, s *Service, taken claims, i int) {
	for j, text := range s.Hosts {
		at := path + ".hosts[" + strconv.Itoa(j) + "]"
		host, err := parseHost(text)
		switch {
		case text == "":
			continue // reported when it was read
		case err == nil:
		case strings.Contains(text, "*"):
			l.Errorf(at, "%s: wildcards are not supported: list the hosts", yamlconf.Quote(text))
			continue
		case strings.Contains(text, "/") || strings.Contains(text, ":"):
			l.Errorf(at, "%s is not a host name: omit scheme, port and path", yamlconf.Quote(text))
			continue
		default:
			l.Errorf(at, "%s is not a host name: want letters, digits, - and ., and other scripts in their xn-- form", yamlconf.Quote(text))
			continue
		}
		l.claim(taken, "host", host, at, i, true)
		s.Hosts[j] = host
	}
}

func (l *loader) checkPublicURL(path string, s *Service, c *Config) {
	at := path + ".public_url"
	if s.PublicURL == nil {
		host, _, err := net.SplitHostPort(c.Server.Listen)
		switch {
		case l.Failed(at) || err != nil:
			return
		case !loopback(host):
			l.Errorf(at, "is required, because server.listen is not a loopback address: set the https URL at which agents reach this service")
			return
		}
		s.PublicURL, s.publicDef = c.listenerURL(), true
	}
	host := s.PublicURL.Hostname()
	if s.PublicURL.Scheme != "https" && !loopback(host) {
		l.Errorf(at, "must be https: agents send tokens to it")
	}
	if len(s.Hosts) > 0 && !slices.Contains(s.Hosts, host) {
		l.Warnf(at, "its host, %s, is not in hosts: agents that follow published URLs do not reach this service", host)
	}
}

// notOurs are headers that the gateway itself sets, or that would change how a request is interpreted.
var notOurs = []string{
	"Connection", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Te", "Trailer", "Traceparent",
	"Transfer-Encoding", "Upgrade",
}

// header checks a header name and returns its canonical form. If the name is invalid or the gateway itself sets the header, header adds an
// error at path and returns false.
func (l *loader) header(path, name string) (string, bool) {
	if !fieldName().MatchString(name) {
		l.Errorf(path, "is not a header name: want letters, digits and -")
		return "", false
	}
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	if slices.Contains(notOurs, canonical) || strings.HasPrefix(canonical, "Uim-") {
		l.Errorf(path, "the %s header is set by the gateway itself: use another", canonical)
		return "", false
	}
	return canonical, true
}

func (l *loader) checkUpstream(path string, u *Upstream) {
	l.checkMCP(path, u)
	if u.Execute != "" &&
		(!strings.HasPrefix(u.Execute, "/") || strings.HasPrefix(u.Execute, "//") || strings.ContainsAny(u.Execute, "?#\\ {}")) {
		l.Errorf(path+".execute", "%s is not a path: want one such as /execute, without query", yamlconf.Quote(u.Execute))
	}
	if u.IdempotencyHeader != "" {
		if name, ok := l.header(path+".idempotency_header", u.IdempotencyHeader); ok {
			u.IdempotencyHeader = name
			if name == "Authorization" {
				l.Errorf(path+".idempotency_header", "the Authorization header carries credentials: use another")
			}
		}
	}
	l.pointer(path+".error_message", u.ErrorMessage)
	l.checkReconcile(path+".reconcile", &u.Reconcile)
	l.checkAuth(path+".auth", u)
	if _, taken := u.Auth.Sent[u.IdempotencyHeader]; taken {
		l.Errorf(path+".idempotency_header", "is also a header of auth: use another")
	}
}

// pointer checks an optional JSON pointer (RFC 6901).
func (l *loader) pointer(path, text string) {
	plain := strings.NewReplacer("~0", "", "~1", "").Replace(text)
	if text != "" && (!strings.HasPrefix(text, "/") || strings.Contains(plain, "~")) {
		l.Errorf(path, "is not a JSON pointer: want one such as /error/message")
	}
}

func (l *loader) checkErrorWhen(path string, e ErrorWhen) {
	if e.Pointer == "" && (e.Message != "" || !e.Equals.IsEmpty()) {
		l.Errorf(path+".pointer", "is required with message or equals: set the place in the response, such as /ok")
	}
	l.pointer(path+".pointer", e.Pointer)
	l.pointer(path+".message", e.Message)
}

// checkReconcile reports missing values. Package upstream checks the rest.
func (l *loader) checkReconcile(path string, r *Reconcile) {
	switch {
	case *r == Reconcile{}:
	case r.URL == "":
		l.Errorf(path+".url", "is required with done or not_done: set the path that returns the outcome of a call")
	case r.Done == "":
		l.Errorf(path+".done", "is required with url: set the response that means that a call happened")
	case r.NotDone == "":
		l.Errorf(path+".not_done", "is required with url: set the response that means that a call did not happen")
	}
}

// printable reports whether s can be a header value: at most 8192 bytes, without control characters except tabs (RFC 9110 5.5).
func printable(s string) bool {
	return len(s) <= 8192 && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func (l *loader) checkParties(path string, s *Service, p *PAT) {
	owners := map[string]string{} // key → agent id
	for _, a := range p.Allow {
		if a.AgentID != "" {
			owners[a.Key] = a.AgentID
		}
	}
	for _, iri := range slices.Sorted(maps.Keys(s.Parties)) {
		party, at := s.Parties[iri], path+".parties["+strconv.Quote(iri)+"]"
		if iri == "" || len(iri) > yamlconf.MaxText || strings.ContainsAny(iri, " \t\r\n") {
			l.Errorf(at, "the key is not an IRI: write it as in the policy")
		}
		if party.AgentID == "" {
			continue // reported when it was read
		}
		l.agentID(at+".agent_id", party.AgentID)
		if party.Key == "" {
			if p.Admission == AdmissionOpen {
				l.Warnf(at, "has no key, so the first agent to claim the agent id becomes this party: give its key, or choose another pat.admission")
			}
			continue
		}
		if !l.thumbprint(at+".key", party.Key) {
			continue
		}
		if owner := owners[party.Key]; owner != "" && owner != party.AgentID {
			l.Errorf(at+".key", "the key already belongs to agent %s: a key can have only one agent id", yamlconf.Quote(owner))
		}
		owners[party.Key] = party.AgentID
	}
}

func (l *loader) checkIntents(path string, s *Service) {
	for _, id := range slices.Sorted(maps.Keys(s.Intents)) {
		at := path + "[" + strconv.Quote(id) + "]"
		if !uid().MatchString(id) || len(id) > yamlconf.MaxText {
			l.Errorf(at, "the key is not an intent uid: want namespace:name:version")
		}
		if ceiling := s.Intents[id].Ceiling; ceiling != (limit.Rate{}) && ceiling.Period == limit.Lifetime {
			l.Warnf(at+".ceiling", "never resets: once it is used up, no agent can call the intent again")
		}
		l.checkFixed(at+".fixed", s.Intents[id].Fixed)
		l.checkErrorWhen(at+".error_when", s.Intents[id].ErrorWhen)
	}
}
