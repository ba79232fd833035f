package config

import (
	"crypto/tls"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	shortToken  = 16 // a shorter admin token is rejected
	longToken   = 1024
	everyoneV4  = "0.0.0.0/0"
	everyoneV6  = "::/0"
	defaultHost = "127.0.0.1"
)

// check reads the files, and checks all conditions that the struct tags do not express.
func (l *loader) check(c *Config) {
	l.checkServer(&c.Server)
	l.checkAdmin(c)
	l.checkPAT(&c.PAT)
	l.claimed = uniqueValues{
		paths: map[int][]pathClaim{}, seeds: map[string]int{}, own: map[string]bool{},
		listeners: map[string]string{"server.listen": c.Server.Listen, "admin.listen": c.Admin.Listen},
	}
	for _, b := range slices.Concat(c.blocks.Doors, c.blocks.Beside) {
		for _, p := range b.Paths {
			l.claimed.own[p] = true
		}
	}
	l.checkTelemetry(c)
	l.checkServices(c)
	l.checkACME(c)
	l.checkOTLP("telemetry.otlp", &c.Telemetry.OTLP)
	l.checkBlocks("", c.blocks.Beside, c.Modules, c, -1)
	l.checkBilling(&c.Billing)
	l.checkPayments(&c.Payments)
	l.checkEvidence(&c.Evidence)
	l.checkNotify(c)
	l.rolling("audit.index.limit", c.Audit.Index.Limit)
	l.checkExport("audit.export", &c.Audit.Export)
}

// newcomersPart is the divisor for the default credit of an unapproved agent: a tenth of billing.credit.
const newcomersPart = 10

// lowPart is the divisor for the default of billing.low: a tenth of billing.credit.
const lowPart = 10

func (l *loader) checkBilling(b *Billing) {
	for path, amount := range map[string]money.Amount{"billing.credit": b.Credit, "billing.newcomers": b.Newcomers} {
		if b.Mode == Prepaid && amount.Currency != "" {
			l.Warnf(path, "has no effect with mode prepaid: omit it")
		}
	}
	switch low := b.Low; {
	case low.Currency == "" && b.Mode == Postpaid:
		b.Low = money.Amount{Nano: b.Credit.Nano / lowPart, Currency: b.Credit.Currency}
	case low.Currency == "" || b.Mode == Prepaid || l.Failed("billing.credit"):
	case low.Currency != b.Credit.Currency || low.Nano > b.Credit.Nano:
		l.Errorf("billing.low", "must be at most billing.credit, and in the same currency")
	}
	switch n := b.Newcomers; {
	case n.Currency == "":
		b.Newcomers = money.Amount{Nano: b.Credit.Nano / newcomersPart, Currency: b.Credit.Currency}
	case b.Mode == Prepaid || l.Failed("billing.credit"):
	case n.Currency != b.Credit.Currency || n.Nano > b.Credit.Nano:
		l.Errorf("billing.newcomers", "must be at most billing.credit, and in the same currency")
	}
}

func (l *loader) checkServer(s *Server) {
	l.listenAddress("server.listen", s.Listen)
	l.rolling("server.per_address", s.PerAddress)
	l.rolling("server.issue_per_address", s.IssuePerAddress)
	l.rolling("server.consents", s.Consents)
	for i, p := range s.TrustedProxies {
		if text := p.String(); text == everyoneV4 || text == everyoneV6 {
			l.Warnf("server.trusted_proxies["+strconv.Itoa(i)+"]",
				"trusts the forwarded addresses of any client: name the networks of your proxies")
		}
	}
	l.certificate(&s.TLS)
}

// certificate loads the certificate and its key. The key is kept only in the loaded pair.
func (l *loader) certificate(t *TLS) {
	if t.Cert.Path == "" && t.Key.Path == "" {
		return
	}
	if t.Cert.Path == "" || t.Key.Path == "" {
		l.Errorf("server.tls", "has only one of cert and key: give both, or neither")
	}
	certRead := l.readInto("server.tls.cert", &t.Cert, maxPEM, false)
	keyRead := l.readInto("server.tls.key", &t.Key, maxPEM, true)
	if !certRead || !keyRead {
		return
	}
	pair, err := tls.X509KeyPair(t.Cert.Data, t.Key.Data)
	t.Key.Data, t.Key.SHA256 = nil, ""
	if err != nil {
		l.Errorf("server.tls", "cannot load cert and key: %v", err)
		return
	}
	t.certificate = &pair
}

// readInto reads the file that f names into f, and reports whether it succeeded. If the file cannot be read, readInto adds an error at
// path. If f has no path, readInto returns false without an error.
func (l *loader) readInto(path string, f *File, most int64, hide bool) bool {
	if f.Path == "" {
		return false
	}
	got, err := l.files.load(f.Path, most, hide)
	if err != nil {
		f.Path = l.files.path(f.Path)
		l.Errorf(path, "%v", err)
		return false
	}
	*f = got
	return true
}

// listenAddress checks an address of the form host:port, and returns its host, which may be empty. If the address is invalid, it adds an
// error at path and returns false.
func (l *loader) listenAddress(path, text string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err == nil && host != "" {
		_, err = parseHost(host)
	}
	if err != nil {
		l.Errorf(path, "is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address")
		return "", false
	}
	return host, true
}

func (l *loader) checkAdmin(c *Config) {
	host, ok := l.listenAddress("admin.listen", c.Admin.Listen)
	if ok && !loopback(host) && c.Server.TLS.Cert.Path == "" && c.Server.TLS.Key.Path == "" && !c.Server.TLS.ACME.Agree {
		l.Errorf("admin.listen",
			"other machines can reach this address, and the admin token would be sent unencrypted: listen on %s, or set server.tls", defaultHost)
	}
	if ok && collide(c.Admin.Listen, c.Server.Listen) {
		l.Errorf("admin.listen", "uses the port of server.listen: choose another")
	}
	for i, text := range c.Admin.Hosts {
		name, err := parseHost(text)
		if err != nil {
			l.Errorf("admin.hosts["+strconv.Itoa(i)+"]", "is not a host name: want a name such as uimgate.internal, without port")
		}
		c.Admin.Hosts[i] = name
	}
	l.checkOIDC(&c.Admin)
	token := c.Admin.Token.Reveal()
	switch {
	case token == "":
	case len(token) > longToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		l.Errorf("admin.token", "cannot be sent in a header: want at most %d visible ASCII characters without spaces", longToken)
	case len(token) < shortToken:
		l.Errorf("admin.token", "is short enough to guess: use at least %d random characters, or omit it, and uimgate creates one", shortToken)
	}
}

// checkTelemetry checks trace_url and the listener for probes, and reserves its address, so that no listener of a block can use it.
func (l *loader) checkTelemetry(c *Config) {
	if text := c.Telemetry.TraceURL; text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !strings.Contains(text, "{trace_id}") {
			l.Errorf("telemetry.trace_url", "is not valid: want an http or https URL with {trace_id}")
		}
	}
	const at = "telemetry.listen"
	if c.Telemetry.Listen == "" {
		return
	}
	if _, ok := l.listenAddress(at, c.Telemetry.Listen); !ok {
		return
	}
	for _, other := range l.listenersAt(c.Telemetry.Listen) {
		l.Errorf(at, "uses the port of %s: choose another", other)
	}
	l.claimed.listeners[at] = c.Telemetry.Listen
}

func (l *loader) checkPAT(p *PAT) {
	l.rolling("pat.limit", p.Limit)
	l.rolling("pat.newcomers", p.Newcomers)
	keys := map[string]int{}
	for i, a := range p.Allow {
		path := "pat.allow[" + strconv.Itoa(i) + "]"
		if a.AgentID != "" {
			l.agentID(path+".id", a.AgentID)
		}
		if a.Key == "" {
			continue // reported when it was read
		}
		at := path
		if l.Has(path + ".key") {
			at = path + ".key"
		}
		if !l.thumbprint(at, a.Key) {
			continue
		}
		if first, twice := keys[a.Key]; twice {
			l.Errorf(path, "the key is already in pat.allow[%d]: a key can have only one agent id", first)
			continue
		}
		keys[a.Key] = i
	}
	if p.Admission == AdmissionAllowlist && len(p.Allow) == 0 {
		l.Errorf("pat.admission", "allowlist with an empty pat.allow admits no agent: list the keys of the agents")
	}
}

// rolling rejects a rate whose period is not a second, minute, hour, day or week, and a rate that permits nothing.
func (l *loader) rolling(path string, r limit.Rate) {
	if r.Period == "" {
		return // reported when it was read
	}
	if !r.Period.Rolling() {
		l.Errorf(path, "counts per %s: want a rate per second, minute, hour, day or week", r.Period)
	}
	if r.Max < 1 {
		l.Errorf(path, "permits nothing: want at least 1")
	}
}

func (l *loader) agentID(path, id string) {
	if _, err := pat.ParseAgentID(id); id != "" && err != nil {
		l.Errorf(path, "is not an agent id: want 1 to 200 visible ASCII characters")
	}
}

func (l *loader) thumbprint(path, key string) bool {
	if _, err := keys.ParseID(key); err == nil {
		return true
	}
	l.Errorf(path, "is not a key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them")
	return false
}

// listenersAt returns the configuration paths of those listeners that conflict with a listener at address, among the listeners checked so
// far.
func (l *loader) listenersAt(address string) (paths []string) {
	for _, path := range slices.Sorted(maps.Keys(l.claimed.listeners)) {
		if collide(address, l.claimed.listeners[path]) {
			paths = append(paths, path)
		}
	}
	return paths
}

// collide reports whether two listeners cannot use these addresses at the same time.
func collide(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || strings.Trim(portA, "0") == "" {
		return false
	}
	everywhere := func(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }
	return strings.EqualFold(hostA, hostB) || everywhere(hostA) || everywhere(hostB)
}
