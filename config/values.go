package config

import (
	"encoding/json"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// An Algorithm is a signature algorithm for PATs (RFC 7518 3.1, RFC 8037 3.1).
type Algorithm string

// The algorithms.
const (
	EdDSA Algorithm = "EdDSA"
	ES256 Algorithm = "ES256"
	RS256 Algorithm = "RS256"
)

// A Freshness defines whether replayable agreements are accepted.
type Freshness string

// The values of pat.freshness.
const (
	FreshnessOptional Freshness = "optional"
	FreshnessRequired Freshness = "required"
)

// An Admission defines which agents get a PAT.
type Admission string

// The values of pat.admission.
const (
	AdmissionOpen      Admission = "open"
	AdmissionAllowlist Admission = "allowlist"
	AdmissionApproval  Admission = "approval"
)

// An Assignee defines how the gateway interprets an assignee of the policy that has no entry in parties.
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

// A ProofRule defines whether calls to an intent need a proof of key, in addition to those for which the policy requires one. Empty means
// that calls that cost money need one.
type ProofRule string

// The values of services[].intents.<uid>.proof.
const (
	ProofRequired ProofRule = "required"
	ProofOptional ProofRule = "optional"
)

// A ConfirmRule defines which calls under consent a person must confirm. If it is empty, the person must confirm charges above the amounts
// that the operator and the person have set.
type ConfirmRule string

// ConfirmAlways is the value of services[].intents.<uid>.confirm for every call.
const ConfirmAlways ConfirmRule = "always"

// Answers defines how the responses of an API are compared with the declared outputs of an intent.
type Answers string

// The values of services[].answers and services[].intents.<uid>.answers.
const (
	AnswersStrict  Answers = "strict"
	AnswersLenient Answers = "lenient"
)

// A BillingMode defines when agents pay.
type BillingMode string

// The values of billing.mode.
const (
	Postpaid BillingMode = "postpaid"
	Prepaid  BillingMode = "prepaid"
)

// A LogLevel is the least severe level that is logged.
type LogLevel string

// The values of telemetry.log.level.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// A LogFormat is the format of the log.
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

// A Store is the location of the state. URL is the connection string of Postgres, which may contain a password. It is empty for SQLite.
type Store struct {
	Engine Engine
	URL    Secret
}

// String returns the store as it is configured, with the password masked and without options.
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

// A File is a file that was read with the Config. Path can be opened from the working directory. SHA256 is the digest of Data in lowercase
// hex. The zero File means that there is no file.
type File struct {
	Path   string
	Data   []byte
	SHA256 string
}

// String returns the path.
func (f File) String() string { return f.Path }

// GoString returns the path, so that no dump of a Config contains the contents of files.
func (f File) GoString() string { return f.Path }

// MarshalJSON encodes the path and the digest.
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

// States returns the states of the files when they were read. The file given to Parse has no state.
func (c *Config) States() FileStates { return maps.Clone(c.states) }

// Digests lists the files that were read, with their SHA-256 and without Data, for the log. It omits private keys and files behind
// ${file:…}, because a short secret can be guessed from its digest.
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

// Bound sets the actual address of the public listener: URLs that are derived from server.listen get its port in place of port 0. Call
// Bound before c is shared.
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

// listenerURL returns the URL at which this machine reaches the public listener.
func (c *Config) listenerURL() *url.URL {
	scheme := "http"
	if c.Server.TLS.Enabled() {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: strings.ToLower(c.Server.Listen)}
}
