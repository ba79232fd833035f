package config

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"
)

// An Algorithm signs PATs. RFC 7518 3.1, RFC 8037 3.1.
type Algorithm string

// The algorithms.
const (
	EdDSA Algorithm = "EdDSA"
	ES256 Algorithm = "ES256"
	RS256 Algorithm = "RS256"
)

// A Freshness is the rule for replayable agreements.
type Freshness string

// The values of pat.freshness.
const (
	FreshnessOptional Freshness = "optional"
	FreshnessRequired Freshness = "required"
)

// An Admission is the rule for who gets a PAT.
type Admission string

// The values of pat.admission.
const (
	AdmissionOpen      Admission = "open"
	AdmissionAllowlist Admission = "allowlist"
	AdmissionApproval  Admission = "approval"
)

// An Assignee is how an assignee of the policy without an entry in parties is interpreted.
type Assignee string

// The values of services[].assignee.
const (
	AssigneeMapped Assignee = "mapped"
	AssigneeAnyone Assignee = "anyone"
)

// An AgreementRule is the kind of agreement that an intent accepts.
type AgreementRule string

// The values of services[].intents.<uid>.agreement.
const (
	AgreementAny   AgreementRule = "any"
	AgreementFresh AgreementRule = "fresh"
)

// A ProofRule is whether calls of an intent need a proof of key in addition to those that the policy requires. Empty: calls that charge
// need one.
type ProofRule string

// The values of services[].intents.<uid>.proof.
const (
	ProofRequired ProofRule = "required"
	ProofOptional ProofRule = "optional"
)

// Answers is how the responses of an API are compared with the declared outputs of an intent.
type Answers string

// The values of services[].answers and services[].intents.<uid>.answers.
const (
	AnswersStrict  Answers = "strict"
	AnswersLenient Answers = "lenient"
)

// A BillingMode is when agents pay.
type BillingMode string

// The values of billing.mode.
const (
	Postpaid BillingMode = "postpaid"
	Prepaid  BillingMode = "prepaid"
)

// A LogLevel is the least severe event logged.
type LogLevel string

// The values of telemetry.log.level.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// A LogFormat is how events are written.
type LogFormat string

// The values of telemetry.log.format.
const (
	LogAuto    LogFormat = "auto"
	LogJSON    LogFormat = "json"
	LogConsole LogFormat = "console"
)

// An Engine is a kind of store.
type Engine string

// The engines.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// A Store is the location of the state. URL is the connection string of Postgres, which may hold a password, and empty for SQLite.
type Store struct {
	Engine Engine
	URL    Secret
}

// String returns the configured form, without password and options.
func (s Store) String() string {
	if s.Engine != Postgres {
		return string(s.Engine)
	}
	u, err := url.Parse(s.URL.Reveal())
	if err != nil {
		return masked
	}
	u.RawQuery = ""
	return u.Redacted()
}

// A File was read whole together with the Config. Path can be opened; SHA256 is lowercase hex of Data. The zero File means none.
type File struct {
	Path   string
	Data   []byte
	SHA256 string
}

// String returns the path.
func (f File) String() string { return f.Path }

// GoString returns the path, so that no dump of a Config holds contents of files.
func (f File) GoString() string { return f.Path }

// MarshalJSON writes path and digest.
func (f File) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"path": f.Path, "sha256": f.SHA256})
}

// Files lists every file whose change requires a reload: the configuration, the files that it names, and the files behind ${file:…}, each
// once.
func (c *Config) Files() []string {
	paths := make([]string, 0, len(c.inputs)+1)
	for _, f := range append([]File{c.Source}, c.inputs...) {
		if !slices.Contains(paths, f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Digests lists the files read, with their SHA-256 and without Data, for the log. It omits private keys and files behind ${file:…},
// because the digest of a short secret reveals it.
func (c *Config) Digests() []File {
	seen := map[string]bool{c.Source.Path: true}
	digests := []File{{Path: c.Source.Path, SHA256: c.Source.SHA256}}
	for _, f := range c.inputs {
		if f.SHA256 != "" && !seen[f.Path] {
			seen[f.Path] = true
			digests = append(digests, File{Path: f.Path, SHA256: f.SHA256})
		}
	}
	return digests
}

// Bound sets the address that the public listener got, so that a port of 0 in URLs derived from server.listen becomes the real one. Call
// it before c is shared.
func (c *Config) Bound(listen net.Addr) {
	_, port, err := net.SplitHostPort(listen.String())
	if err != nil {
		return
	}
	for i := range c.Services {
		if s := &c.Services[i]; s.publicDef {
			bound := *s.PublicURL
			bound.Host = net.JoinHostPort(bound.Hostname(), port)
			s.PublicURL = &bound
		}
	}
}

// listenerURL returns the URL of a listener as its own host reaches it.
func (c *Config) listenerURL() *url.URL {
	scheme := "http"
	if c.Server.TLS.Enabled() {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: strings.ToLower(c.Server.Listen)}
}
