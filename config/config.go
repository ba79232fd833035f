// Package config turns the YAML that an operator edits into a checked Config. No other package of uimgate reads the configuration's files
// or the environment: a Config has everything that a gateway needs from them, in its final type and within its bounds. Otherwise Load
// reports all problems together, as file:line: message.
//
//	cfg, problems := config.Load("uimgate.yaml", config.Overrides{Env: os.LookupEnv})
//	for _, p := range problems {
//		fmt.Fprintln(os.Stderr, p)
//	}
//	if cfg == nil {
//		return 1
//	}
//
// Struct tags of this file declare keys, defaults, bounds and descriptions. internal/yamlconf defines the tags; the decoder, the JSON
// Schema (Schema) and the reference (Reference) are made from them.
//
// The package also owns the data directory (OpenDataDir) and watches the files that a Config was read from (Watch).
package config

import (
	"crypto/tls"
	"net/netip"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// A Config is a whole, checked configuration. It is immutable after Bound, so it may be shared.
type Config struct {
	// Source is the file itself, without its Data.
	Source File `yaml:"-"`

	Data      string    `restart:"true" yaml:"data" default:"./data" doc:"Directory of the signing keys, state.db, audit.jsonl and admin.token. One process per directory."`
	Store     Store     `restart:"true" yaml:"store" default:"sqlite" doc:"Where state is kept: sqlite (in the data directory) or postgres://user:password@host/database, shared by several processes."`
	Server    Server    `yaml:"server" doc:"The public listener."`
	Admin     Admin     `yaml:"admin" doc:"The operator's listener: admin API, health and metrics. It uses the certificate of server.tls where there is one."`
	Services  []Service `yaml:"services" required:"true" max:"256" doc:"What is offered to agents. A request's service is chosen by its host."`
	Unserved  []string  `yaml:"unserved" max:"1024" doc:"Ids of services that have state in the store and are not served here: removed on purpose, or served by other processes. Their state is kept."`
	PAT       PAT       `yaml:"pat" doc:"Policy Adherence Tokens and who gets them."`
	Billing   Billing   `yaml:"billing" doc:"What agents may owe."`
	Audit     Audit     `yaml:"audit" doc:"The audit stream, audit.jsonl in the data directory."`
	Telemetry Telemetry `yaml:"telemetry" doc:"Log, metrics and traces."`
	// Modules are the blocks of modules at the level of services: Overrides.Blocks.Beside.
	Modules ModuleBlocks `yaml:",inline" jsonschema:"-"`

	positions yamlconf.Positions
	inputs    []File
	document  *yamlconf.Document
	blocks    Blocks
}

// A Server is the public listener.
type Server struct {
	Listen          string         `restart:"true" yaml:"listen" default:"127.0.0.1:8080" doc:"Address and port. Port 0 takes a free one, an empty host listens on every address."`
	TLS             TLS            `restart:"true" yaml:"tls" doc:"Serve https: with a certificate from files, cert and key, or with one from a CA, acme."`
	TrustedProxies  []netip.Prefix `yaml:"trusted_proxies" max:"256" doc:"Networks whose X-Forwarded-For and X-Forwarded-Host are believed, such as 10.0.0.0/8."`
	MaxBody         int64          `yaml:"max_body" default:"1MiB" min:"1KiB" max:"64MiB" doc:"Largest request body."`
	ReadTimeout     time.Duration  `restart:"true" yaml:"read_timeout" default:"10s" min:"100ms" max:"5m" doc:"Time a client has to send its request."`
	PerAddress      limit.Rate     `yaml:"per_address" default:"100/second" doc:"Requests per client address (IPv6: per /64), counted before any cryptography."`
	Connections     int            `yaml:"connections_per_address" default:"256" min:"1" max:"16384" doc:"Connections open at once per client address (IPv6: per /64; a /56 may have twice as many, a /48 four times). Those of trusted_proxies are not counted."`
	IssuePerAddress limit.Rate     `yaml:"issue_per_address" default:"10/minute" doc:"Requests for a PAT per client address."`
	Consents        limit.Rate     `yaml:"consents" default:"20/second" doc:"Consents by people and registrations of OAuth clients, of all addresses together; as many consents by invitation. What issue_per_address refuses does not count."`
	DrainTimeout    time.Duration  `yaml:"drain_timeout" default:"20s" min:"0s" max:"10m" doc:"Time running requests have to finish after SIGTERM."`
}

// TLS names a certificate and its key, which were loaded together, or the CA that issues one.
type TLS struct {
	Cert File `yaml:"cert" doc:"PEM file of the certificate and its chain."`
	Key  File `yaml:"key" doc:"PEM file of the private key."`
	ACME ACME `yaml:"acme" doc:"Obtain certificates from a CA by ACME, and renew them, for the names in hosts and public_url of every service. They are kept in the store."`

	certificate *tls.Certificate
}

// Enabled reports whether the listener speaks https.
func (t TLS) Enabled() bool { return t.certificate != nil || t.ACME.Agree }

// Certificate is the pair loaded from files; nil if there is none. The data of Key is not kept elsewhere.
func (t TLS) Certificate() *tls.Certificate { return t.certificate }

// ACME is how certificates are obtained from a CA (RFC 8555). It is not used unless Agree is true.
type ACME struct {
	Agree     bool     `yaml:"agree" doc:"true: you have read the CA's subscriber agreement and agree to it. Required."`
	Email     string   `yaml:"email" doc:"Where the CA may send notices about the account."`
	Directory *url.URL `yaml:"directory" doc:"The URL of the CA's ACME directory. Default: Let's Encrypt."`
	Staging   bool     `yaml:"staging" doc:"Use the staging CA of Let's Encrypt, whose certificates clients do not trust, to try the set-up without its limits."`
	Roots     File     `yaml:"roots" doc:"PEM file of the CAs that the directory's own certificate may come from, for a CA inside your network. Default: those of the system."`
	EAB       EAB      `yaml:"eab" doc:"The account that a CA gave you outside of ACME (external account binding)."`
	DNS       DNS01    `yaml:"dns" doc:"Prove control of the names by DNS records, with signed updates (RFC 2136). Default: by requests of the CA to ports 80 and 443 of the names."`
	HTTP      string   `yaml:"http" doc:"Address and port of a listener that answers the CA's requests to port 80 and redirects everything else to https. Default: port 80 of server.listen if that has port 443; otherwise none."`
}

// EAB names an account at a CA: RFC 8555 section 7.3.4.
type EAB struct {
	KID string `yaml:"kid" doc:"The key identifier."`
	Key Secret `yaml:"key" doc:"The HMAC key, as base64url."`
}

// DNS01 names the server that takes the records of DNS-01 challenges.
type DNS01 struct {
	Server string `yaml:"server" doc:"Address of the zone's primary server, such as ns1.shop.example:53. Updates are sent by TCP."`
	Key    Secret `yaml:"key" doc:"The TSIG key as dig -y takes it: algorithm:name:secret, such as hmac-sha256:uimgate:c2VjcmV0. Default: updates are not signed."`
	Zone   string `yaml:"zone" doc:"The zone. Default: the server is asked for it."`
}

// Admin is the operator's listener.
type Admin struct {
	Listen string `restart:"true" yaml:"listen" default:"127.0.0.1:8081" doc:"Address and port. An address other machines can reach needs server.tls."`
	// Hosts are lowercase, without port.
	Hosts []string `yaml:"hosts" max:"100" doc:"Host names the listener answers to, without port, beside addresses and localhost: such as the name under which metrics are fetched."`
	Token Secret   `yaml:"token" default:"${UIMGATE_ADMIN_TOKEN:-}" doc:"Bearer token of the admin API. Empty: made once into admin.token in the data directory."`
}

// A Service is one web service made usable by agents.
type Service struct {
	AgentsFile File     `yaml:"agents_file" required:"true" example:"agents.json" doc:"The agents.json of the service, relative to this file."`
	PolicyFile File     `yaml:"policy_file" required:"true" example:"policy.json" doc:"Its ODRL policy, relative to this file."`
	Upstream   Upstream `yaml:"upstream" required:"true" doc:"The API that does the work."`
	// PolicyRego.Path is empty if there is none.
	PolicyRego     File          `yaml:"policy_rego" doc:"The operator's own Rego beside the policy: package uimgate.extra, whose deny refuses calls that the policy permits. Relative to this file. Default: none."`
	PolicyRegoTime time.Duration `yaml:"policy_rego_time" default:"10ms" min:"1ms" max:"1s" doc:"Time policy_rego has for one decision; a call it gives no answer for is refused."`
	ID             string        `yaml:"id" default:"default" doc:"Names the service in records, logs and commands. Required where there are several. State is kept under it: see formerly."`
	Formerly       string        `yaml:"formerly" doc:"The id that the service had before. When uimgate starts, the agents, PATs, revocations, limits, accounts and identities kept under it are carried over, once."`
	// Hosts are lowercase, without port; IP addresses in canonical form. Empty only if there is one service.
	Hosts []string `yaml:"hosts" max:"1000" doc:"Host names the service answers to, without port. May be empty where there is one service, which then answers every host."`
	// PublicURL is never nil and has no trailing slash; Bound fills in a port of 0.
	PublicURL *url.URL `yaml:"public_url" doc:"The URL agents reach the service under. Default: the listener's own URL if that is loopback; otherwise required. https, unless it is loopback."`
	// Issuer may be empty; IssuerOr has the default.
	Issuer   string                `yaml:"issuer" doc:"iss and aud of PATs, agreements and proofs, published as uim-issuer. Default: the namespace of the first intent."`
	Parties  map[string]Party      `yaml:"parties" max:"10000" doc:"Agents the policy names: IRI in the policy to agent_id and key."`
	Assignee Assignee              `yaml:"assignee" default:"mapped" enum:"mapped,anyone" doc:"mapped: an assignee binds to the agent that parties names. anyone: an assignee without entry means every agent."`
	Intents  map[string]IntentRule `yaml:"intents" max:"100000" doc:"Further rules by intent uid."`
	// Fixed is by place: the name of a parameter, or header:NAME, query:NAME, body:/pointer (PlaceOf).
	Fixed     map[string]Value `yaml:"fixed" max:"256" doc:"Values sent with every call that has a place for them, which agents neither see nor give: parameter, header:NAME, query:NAME or body:/pointer to a value. A secret is written as ${file:PATH}."`
	Answers   Answers          `yaml:"answers" default:"strict" enum:"strict,lenient" doc:"strict: an answer that lacks a required output is an error. lenient: it is passed on without that output, with a warning."`
	ErrorWhen ErrorWhen        `yaml:"error_when" doc:"Which answers with a 2xx status say no, for APIs that do: they are refusals, and not charged."`
	// Facts has no key for the facts of the gateway itself: its clock, the intent, the key that signed.
	Facts map[string]FactSources `yaml:"facts" max:"64" doc:"Where the facts come from that the policy's constraints are about: left operand, such as purpose, to sources in order; the first that has a value is believed. What has no source is unknown, which permits nothing."`
	// Profiles have no Data if they name a built-in vocabulary.
	Doors     DoorBlocks `yaml:"doors" doc:"Other protocols for agents: the same intents, agreement, limits and ledger."`
	Profiles  []File     `yaml:"profiles" max:"32" doc:"Vocabularies of the profiles that the policy uses: files in Turtle or JSON-LD, relative to this file, or names of built-in ones such as catena-x."`
	publicDef bool
}

// IssuerOr returns the configured issuer, or otherwise namespace, which is that of the service's first intent.
func (s *Service) IssuerOr(namespace string) string {
	if s.Issuer != "" {
		return s.Issuer
	}
	return namespace
}

// An Upstream is the API behind a service.
type Upstream struct {
	URL               *url.URL      `yaml:"url" required:"true" example:"http://127.0.0.1:9000" doc:"Base URL, such as http://127.0.0.1:9000: replaces scheme and host of each intent's endpoint, its path is put in front."`
	Execute           string        `yaml:"execute" doc:"Path that intents without an endpoint are posted to."`
	Timeout           time.Duration `yaml:"timeout" default:"10s" min:"1ms" max:"10m" doc:"Time for one call, retries included."`
	Concurrency       int           `yaml:"concurrency" default:"1024" min:"1" max:"65536" doc:"Calls under way at once. Further ones wait up to 2 seconds, as many as this, and are taken in turn by agent; an agent has at most as many under way as are left for others, and unapproved agents leave a quarter to the others."`
	MaxResponse       int64         `yaml:"max_response" default:"8MiB" min:"1KiB" max:"256MiB" doc:"Largest answer."`
	IdempotencyHeader string        `yaml:"idempotency_header" doc:"Header by which the API recognises a repeated call. Only with it are methods other than GET and HEAD repeated; it then carries the execution id."`
	ErrorMessage      string        `yaml:"error_message" doc:"JSON pointer to the message in the API's errors, such as /error/text. Default: where APIs usually have it."`
	Reconcile         Reconcile     `yaml:"reconcile" doc:"How to ask the API for the outcome of a call of unknown outcome; such calls then settle themselves."`
	Auth              Auth          `yaml:"auth" doc:"The operator's credentials at the API, any of them together; agents neither see nor give them."`
	Breaker           Breaker       `yaml:"breaker" doc:"Stops the calls of an intent that fails."`
}

// A Sign is a condition on a response: one of some statuses, as in "200, 201", or a value in its body, as in /done or /state=paid.
type Sign string

// Reconcile configures how the gateway requests the outcome of a call from an upstream.
type Reconcile struct {
	URL     string `yaml:"url" example:"/orders/{execution_id}" doc:"Path of the API that is asked by GET, with {execution_id} in it; without that the id is in idempotency_header. Empty: it is not asked."`
	Done    Sign   `yaml:"done" example:"200" doc:"The answer that means that it happened: statuses, such as \"200, 201\", or a JSON pointer into the answer that is true there, or has a value, as in /state=paid. Required with url."`
	NotDone Sign   `yaml:"not_done" example:"404" doc:"The answer that means that it did not happen, and never will, in the same form. After any other answer the gateway asks again."`
}

// Auth holds the credentials sent to an upstream. Sent are the headers to send, of header, headers and basic.
type Auth struct {
	Header  Secret           `yaml:"header" doc:"A header, such as \"X-Api-Key: ${file:/run/secrets/api-key}\"."`
	Headers map[string]Value `yaml:"headers" max:"32" doc:"Headers: name to value."`
	Query   map[string]Value `yaml:"query" max:"32" doc:"Members of the query: name to value. services[].fixed goes before them."`
	Body    map[string]Value `yaml:"body" max:"32" doc:"Members of each body, by name or JSON pointer. services[].fixed goes before them."`
	Basic   Secret           `yaml:"basic" doc:"user:password for HTTP basic authentication."`
	OAuth2  OAuth2           `yaml:"oauth2" doc:"An access token by client credentials (RFC 6749 4.4), sent as Authorization: Bearer, and renewed before it expires."`

	Sent map[string]Secret `yaml:"-"` // by canonical name
}

// OAuth2 configures the source of an upstream's access tokens.
type OAuth2 struct {
	TokenURL     *url.URL `yaml:"token_url" doc:"The token endpoint. https, unless it is loopback or at the host of upstream.url."` // nil: none
	ClientID     string   `yaml:"client_id" doc:"Required with token_url."`
	ClientSecret Secret   `yaml:"client_secret" doc:"Such as ${file:/run/secrets/client-secret}. Required with token_url."`
	Scopes       []string `yaml:"scopes" max:"64" doc:"What is asked for; empty: what the token server gives by itself."`
}

// A Breaker rejects calls of an intent for a while after consecutive failures.
type Breaker struct {
	Failures int           `yaml:"failures" default:"5" min:"1" max:"10000" doc:"Failures in a row, of at least two agents, that stop all calls of an intent; or of one agent, that stop its own calls of it."`
	OpenFor  time.Duration `yaml:"open_for" default:"10s" min:"100ms" max:"1h" doc:"Time until a call is tried again."`
}

// A Party is an agent that a policy names by IRI.
type Party struct {
	AgentID string `yaml:"agent_id" required:"true" doc:"1 to 200 visible ASCII characters. Reserved for this party."`
	Key     string `yaml:"key" doc:"RFC 7638 thumbprint of its key: 43 characters."` // empty: any key of the agent
}

// An IntentRule adds to the rules of the policy about one intent.
type IntentRule struct {
	Agreement AgreementRule    `yaml:"agreement" default:"any" enum:"any,fresh" doc:"fresh: only for PATs from a fresh agreement."`
	Proof     ProofRule        `yaml:"proof" enum:"required,optional" doc:"Whether each call needs a proof of key: required, or optional, which leaves it to the policy. Default: required where a call charges."`
	Ceiling   limit.Rate       `yaml:"ceiling" doc:"Most calls of all agents together, such as 1000/hour. Default: none but pat.newcomers."` // empty Period: none
	Fixed     map[string]Value `yaml:"fixed" max:"256" doc:"As services[].fixed, for this intent; where both have a value for one place, this one is sent."`
	Answers   Answers          `yaml:"answers" enum:"strict,lenient" doc:"As services[].answers, for this intent. Default: as the service's."` // empty: the service's
	ErrorWhen ErrorWhen        `yaml:"error_when" doc:"As services[].error_when, for this intent. Default: as the service's."`
}

// An ErrorWhen describes which responses with a 2xx status are refusals. The zero value describes none.
type ErrorWhen struct {
	Pointer string `yaml:"pointer" doc:"JSON pointer into the answer, such as /ok."`
	Equals  Value  `yaml:"equals" doc:"The value that means a refusal, such as false. Default: any but null, false, 0, an empty text, list or object, such as a list of errors."`
	Message string `yaml:"message" doc:"JSON pointer to the message, such as /error. Default: where APIs usually have it."`
}

// FactSources are tried in order.
type FactSources []FactSource

// A FactSource is one source of a fact: exactly one of the members is set.
type FactSource struct {
	Claim     string            `yaml:"claim" doc:"A claim of the PAT: sub, or a name that the agent declared in the agreement it signed."`
	Parameter string            `yaml:"parameter" doc:"JSON pointer (RFC 6901) into the parameters of the call, such as /purpose: the agent's word."`
	Header    string            `yaml:"header" doc:"A request header, believed only where the request came directly from one of server.trusted_proxies, which must set or remove it."`
	Address   bool              `yaml:"address" doc:"The address of the client, as rate limits see it."`
	Value     []string          `yaml:"value" max:"64" doc:"The operator's value, the same for every call."`
	Agents    map[string]Values `yaml:"agents" max:"100000" doc:"The operator's values for each agent: agent_id to values."`
}

// Values are the values of one fact.
type Values []string

// PAT configures how PATs are made and who gets them.
type PAT struct {
	Algorithm    Algorithm     `restart:"true" yaml:"algorithm" default:"EdDSA" enum:"EdDSA,ES256,RS256" doc:"How new tokens are signed."`
	TTL          time.Duration `yaml:"ttl" default:"1h" min:"1s" max:"24h" doc:"Life of a token."`
	Leeway       time.Duration `yaml:"leeway" default:"30s" min:"0s" max:"5m" doc:"Clock difference tolerated."`
	RenewGrace   time.Duration `yaml:"renew_grace" default:"0s" min:"0s" max:"24h" doc:"Time after its end in which a token may still be renewed."`
	Freshness    Freshness     `yaml:"freshness" default:"optional" enum:"optional,required" doc:"required: agreements that could be replayed (a bare signature over the policy) are refused."`
	Admission    Admission     `yaml:"admission" default:"open" enum:"open,allowlist,approval" doc:"open: every key that agrees. allowlist: the keys in allow. approval: the operator approves each agent."`
	Allow        []Allowed     `yaml:"allow" max:"10000" doc:"Admitted keys: thumbprints, or {id, key} to reserve the agent id too."`
	Limit        limit.Rate    `yaml:"limit" default:"10000/hour" doc:"Calls per agent where the policy sets no common limit."`
	Newcomers    limit.Rate    `yaml:"newcomers" default:"100000/hour" doc:"Free calls of each intent by all unapproved agents together, under open admission, if the intent has no ceiling. Calls that charge are bounded by billing."`
	SuspendAfter int           `yaml:"suspend_after" default:"0" min:"0" max:"1000000000" doc:"Refused attempts within one period of a limit the policy forbids to exceed, after which the agent is blocked. 0: never."`
}

// Allowed is one permitted key. AgentID is empty if the entry is only a thumbprint.
type Allowed struct {
	AgentID string `yaml:"id" required:"true" doc:"Agent id reserved for the key."`
	Key     string `yaml:"key" required:"true" short:"true" pattern:"^[A-Za-z0-9_-]{43}$" doc:"RFC 7638 thumbprint: 43 characters."`
}

// Billing bounds what agents may owe.
type Billing struct {
	Mode   BillingMode  `yaml:"mode" default:"postpaid" enum:"postpaid,prepaid" doc:"prepaid: agents spend what the operator topped up."`
	Credit money.Amount `yaml:"credit" doc:"Most an agent may owe, such as 10 USD. A policy that charges needs it, or mode prepaid."` // empty Currency: none
	// Newcomers has the currency of Credit, and is at most Credit.
	Newcomers money.Amount  `yaml:"newcomers" doc:"Most that one unapproved agent may owe, under open admission. Default: a tenth of credit. All of them together owe credit at most, which comes free again within 24 hours."`
	Retain    time.Duration `yaml:"retain" default:"400d" min:"1d" max:"36500d" doc:"How long the ledger is kept."`
}

// Audit holds the options of the audit stream.
type Audit struct {
	Parameters bool `yaml:"parameters" default:"false" doc:"Write facts taken from parameters as they are; otherwise their SHA-256."`
	Required   bool `yaml:"required" default:"false" doc:"Make no call without a record: each is written down before it is made and before its answer leaves, and refused while that fails."`
}

// Telemetry configures logs, metrics and their export.
type Telemetry struct {
	Log     Log  `restart:"true" yaml:"log" doc:"The log, on stderr."`
	Metrics bool `yaml:"metrics" default:"true" doc:"Offer /metrics on the admin listener."`
	OTLP    OTLP `restart:"true" yaml:"otlp" doc:"Export traces, metrics and the log to an OpenTelemetry collector, by OTLP over HTTP."`
}

// A Log is written to stderr.
type Log struct {
	Level  LogLevel  `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Least severe event logged."`
	Format LogFormat `yaml:"format" default:"auto" enum:"auto,json,console" doc:"auto: console on a terminal, json otherwise."`
}
