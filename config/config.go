// Package config reads the YAML file that an operator edits, and returns a checked Config. Only this package reads the files of the
// configuration and the environment variables that they name. A Config has everything that a gateway needs from them, in its final type and
// within its limits. If the configuration is invalid, Load reports all problems together, as file:line: message.
//
//	cfg, problems := config.Load("uimgate.yaml", config.Overrides{Env: os.LookupEnv})
//	for _, p := range problems {
//		fmt.Fprintln(os.Stderr, p)
//	}
//	if cfg == nil {
//		return 1
//	}
//
// The struct tags in this file declare keys, defaults, limits and descriptions. Package internal/yamlconf defines the tags, and derives the
// decoder, the JSON Schema (Schema) and the reference (Reference) from them.
//
// The package also manages the data directory (OpenDataDir) and watches the files of a Config (Watch).
package config

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// A Config is a complete, checked configuration. It does not change after Bound, so it may be shared.
type Config struct {
	// Source is the configuration file, without its Data.
	Source File `yaml:"-"`

	Data      string    `restart:"true" yaml:"data" default:"./data" doc:"Directory of the signing keys, state.db, audit.jsonl and admin.token. One process per directory."`
	Store     Store     `restart:"true" yaml:"store" default:"sqlite" doc:"Where the state is stored: sqlite (in the data directory), or postgres://user:password@host/database, which several processes can share."`
	Server    Server    `yaml:"server" doc:"The public listener."`
	Admin     Admin     `yaml:"admin" doc:"The operator's listener: admin API, health and metrics. It uses the certificate of server.tls if there is one."`
	Services  []Service `yaml:"services" required:"true" max:"256" doc:"The services that are offered to agents. The host of a request selects the service."`
	Unserved  []string  `yaml:"unserved" max:"1024" doc:"Ids of services that have state in the store but are not served here, because they were removed on purpose or are served by other processes. Their state is kept."`
	PAT       PAT       `yaml:"pat" doc:"Policy Adherence Tokens, and which agents get them."`
	Billing   Billing   `yaml:"billing" doc:"What agents may owe."`
	Payments  Payments  `yaml:"payments" doc:"How agents pay in, and the payment that the gateway demands if a call costs more than an agent can spend."`
	Evidence  Evidence  `yaml:"evidence" doc:"The evidence of charges for agents: receipts, and the log of the ledger."`
	Audit     Audit     `yaml:"audit" doc:"The audit stream, audit.jsonl in the data directory."`
	Telemetry Telemetry `yaml:"telemetry" doc:"Log, metrics and traces."`
	Notify    []Webhook `yaml:"notify" max:"16" doc:"Webhooks to which the gateway posts a notice when something needs a person's attention: url, secret, events, private."`
	// Modules are the blocks of modules at the level of services: Overrides.Blocks.Beside.
	Modules ModuleBlocks `yaml:",inline" jsonschema:"-"`

	positions yamlconf.Positions
	inputs    []File
	states    FileStates
	document  *yamlconf.Document
	blocks    Blocks
}

// A Server is the public listener.
type Server struct {
	Listen          string         `restart:"true" yaml:"listen" default:"127.0.0.1:8080" doc:"Address and port. Port 0 selects a free port; an empty host means every address."`
	TLS             TLS            `restart:"true" yaml:"tls" doc:"Serve https, with a certificate from files (cert and key) or from a CA (acme)."`
	TrustedProxies  []netip.Prefix `yaml:"trusted_proxies" max:"256" doc:"Networks whose X-Forwarded-For and X-Forwarded-Host are trusted, such as 10.0.0.0/8."`
	MaxBody         int64          `yaml:"max_body" default:"1MiB" min:"1KiB" max:"64MiB" doc:"Maximum size of a request body."`
	ReadTimeout     time.Duration  `restart:"true" yaml:"read_timeout" default:"10s" min:"100ms" max:"5m" doc:"Time in which a client must send its request."`
	PerAddress      limit.Rate     `yaml:"per_address" default:"100/second" doc:"Requests per client address (IPv6: per /64), counted before any cryptography."`
	Connections     int            `yaml:"connections_per_address" default:"256" min:"1" max:"16384" doc:"Maximum number of open connections per client address (IPv6: per /64; a /56 may have twice as many, a /48 four times as many). Connections of trusted_proxies are not counted."`
	IssuePerAddress limit.Rate     `yaml:"issue_per_address" default:"10/minute" doc:"Requests for a PAT per client address."`
	Consents        limit.Rate     `yaml:"consents" default:"20/second" doc:"Consents by people and registrations of OAuth clients, for all addresses together. The same number of consents by invitation is allowed in addition. Requests that issue_per_address refuses are not counted."`
	DrainTimeout    time.Duration  `yaml:"drain_timeout" default:"20s" min:"0s" max:"10m" doc:"Time in which running requests must finish after SIGTERM."`
}

// TLS names the files of a certificate and its key, which Load has read, or configures the CA that issues certificates.
type TLS struct {
	Cert File `yaml:"cert" doc:"PEM file with the certificate and its chain."`
	Key  File `yaml:"key" doc:"PEM file with the private key."`
	ACME ACME `yaml:"acme" doc:"Obtain and renew certificates from a CA through ACME for the names in hosts and public_url of every service. The certificates are kept in the store."`

	certificate *tls.Certificate
}

// Enabled reports whether the listener serves https.
func (t TLS) Enabled() bool { return t.certificate != nil || t.ACME.Agree }

// Certificate returns the certificate that was loaded from files, or nil if there is none. No other value contains its private key.
func (t TLS) Certificate() *tls.Certificate { return t.certificate }

// ACME configures how certificates are obtained from a CA (RFC 8555). It is used only if Agree is true.
type ACME struct {
	Agree     bool     `yaml:"agree" doc:"Set to true if you have read the CA's subscriber agreement and agree to it. Required."`
	Email     string   `yaml:"email" doc:"Where the CA may send notices about the account."`
	Directory *url.URL `yaml:"directory" doc:"The URL of the CA's ACME directory. Default: Let's Encrypt."`
	Staging   bool     `yaml:"staging" doc:"Use the staging CA of Let's Encrypt to test the setup without the rate limits of the production CA. Clients do not trust its certificates."`
	Roots     File     `yaml:"roots" doc:"PEM file with the CA certificates to trust in connections to the directory, for a CA inside your network. Default: the CA certificates of the system."`
	EAB       EAB      `yaml:"eab" doc:"The account that a CA gave you outside ACME (external account binding)."`
	DNS       DNS01    `yaml:"dns" doc:"Prove control of the names with DNS records, which uimgate sets by dynamic updates (RFC 2136). Default: the CA sends requests to ports 80 and 443 of the names."`
	HTTP      string   `yaml:"http" doc:"Address and port of a listener that answers the CA's requests to port 80 and redirects everything else to https. Default: port 80 on the host of server.listen if its port is 443; otherwise none."`
}

// EAB names an account at a CA: RFC 8555 section 7.3.4.
type EAB struct {
	KID string `yaml:"kid" doc:"The key identifier."`
	Key Secret `yaml:"key" doc:"The HMAC key, as base64url."`
}

// DNS01 names the server to which the records of DNS-01 challenges are sent.
type DNS01 struct {
	Server string `yaml:"server" doc:"Address of the zone's primary server, such as ns1.shop.example:53. Updates are sent over TCP."`
	Key    Secret `yaml:"key" doc:"The TSIG key in the form of dig -y: algorithm:name:secret, such as hmac-sha256:uimgate:c2VjcmV0. Default: updates are not signed."`
	Zone   string `yaml:"zone" doc:"The zone. Default: uimgate queries the server for it."`
}

// Admin is the operator's listener.
type Admin struct {
	Listen string `restart:"true" yaml:"listen" default:"127.0.0.1:8081" doc:"Address and port. An address that other machines can reach requires server.tls."`
	// Hosts are in lowercase and without port.
	Hosts []string `yaml:"hosts" max:"100" doc:"Host names to which this listener and telemetry.listen respond, without port, in addition to addresses and localhost: for example, the name under which metrics are fetched."`
	Token Secret   `yaml:"token" default:"${UIMGATE_ADMIN_TOKEN:-}" doc:"Bearer token of the admin API. Empty: uimgate creates one in admin.token in the data directory."`
	// Console is true by default: its pages have the same address and need the same token as the admin API, and cost nothing until they are
	// requested.
	Console bool `yaml:"console" default:"true" doc:"Serve the console for the operator's browser, at /console/ of this listener and of the socket in the data directory. uimgate console prints a link that signs in."`
	// Playground is true by default: it costs nothing until an operator uses it.
	Playground bool `yaml:"playground" default:"true" doc:"Let operators make calls as a test agent, from the console and with uimgate doors try. The agent of each service agrees, pays and is limited like every other agent; its key is in the data directory."`
	OIDC       OIDC `yaml:"oidc" doc:"Let people sign in to the console through an OpenID Connect provider, in addition to links and the admin token."`
}

// A Service is one web service made usable by agents.
type Service struct {
	AgentsFile File     `yaml:"agents_file" required:"true" example:"agents.json" doc:"The agents.json of the service, relative to this file."`
	PolicyFile File     `yaml:"policy_file" required:"true" unless:"policies" example:"policy.json" doc:"The ODRL policy of the service, relative to this file."`
	Upstream   Upstream `yaml:"upstream" required:"true" doc:"The API behind the service."`
	// Policies are in the order of From. Use Versions to read them: it returns PolicyFile if there are none.
	Policies []DatedPolicy `yaml:"policies" max:"16" doc:"Instead of policy_file, the policies of the service in the order in which they take effect. Agents can agree to a policy as soon as it is listed. When a policy takes effect, the agreements to the policy before it end, except for intents whose terms do not change."`
	// PolicyRego.Path is empty if there are no such rules.
	PolicyRego     File          `yaml:"policy_rego" doc:"The operator's own Rego rules in addition to the policy: package uimgate.extra, whose rule deny refuses calls that the policy permits. Relative to this file. Default: none."`
	PolicyRegoTime time.Duration `yaml:"policy_rego_time" default:"10ms" min:"1ms" max:"1s" doc:"Time limit for one decision of policy_rego. If it makes no decision in this time, the call is refused."`
	ID             string        `yaml:"id" default:"default" doc:"Identifies the service in records, logs and commands. Required if there are several services. The state is stored under this id. To change the id, use formerly."`
	Formerly       string        `yaml:"formerly" doc:"The previous id of the service. When uimgate starts, it moves the agents, PATs, revocations, limits, accounts and identities of the previous id to the present one, once."`
	// Hosts are in lowercase and without port; IP addresses are in canonical form. Hosts is empty only if there is one service.
	Hosts []string `yaml:"hosts" max:"1000" doc:"Host names to which the service responds, without port. If there is only one service, hosts may be empty: the service then responds to every host."`
	// PublicURL is never nil and has no trailing slash. Bound replaces port 0 with the actual port.
	PublicURL *url.URL `yaml:"public_url" doc:"The URL at which agents reach the service: https, unless its host is loopback. Default: the URL of the listener if that is loopback; otherwise required."`
	// PublishUpstream is false by default, because agents need only the gateway.
	PublishUpstream bool `yaml:"publish_upstream" default:"false" doc:"Publish the endpoints of the intents in agents.json as they are written there. false: the published endpoint of each intent is that of the gateway, so that agents do not see the addresses and paths of the API."`
	// Issuer may be empty; IssuerOr returns the default.
	Issuer   string                `yaml:"issuer" doc:"iss and aud of PATs, agreements and proofs, published as uim-issuer. Default: the namespace of the first intent."`
	Parties  map[string]Party      `yaml:"parties" max:"10000" doc:"Agents that the policy names: a map from the IRI in the policy to agent_id and key."`
	Assignee Assignee              `yaml:"assignee" default:"mapped" enum:"mapped,anyone" doc:"mapped: an assignee of the policy means the agent that parties names. anyone: an assignee without an entry in parties means every agent."`
	Intents  map[string]IntentRule `yaml:"intents" max:"100000" doc:"Additional rules, by intent uid."`
	// The keys of Fixed are places: the name of a parameter, header:NAME, query:NAME or body:/pointer (PlaceOf).
	Fixed     map[string]Value `yaml:"fixed" max:"256" doc:"Values that the gateway sends with every call that has a place for them, and that agents can neither read nor set: a map from a parameter, header:NAME, query:NAME or body:/POINTER to the value. Write a secret as ${file:PATH}."`
	Answers   Answers          `yaml:"answers" default:"strict" enum:"strict,lenient" doc:"strict: a response that lacks a required output is an error. lenient: it is passed on without that output, with a warning."`
	ErrorWhen ErrorWhen        `yaml:"error_when" doc:"Which responses with a 2xx status report an error, for APIs that have such responses. The gateway treats them as refusals and does not charge for them."`
	// Facts has no keys for the facts of the gateway itself: its clock, the intent, the key that signed.
	Facts map[string]FactSources `yaml:"facts" max:"64" doc:"Sources of the facts that the constraints of the policy use: a map from a left operand, such as purpose, to a list of sources. The first source that has a value is used. A fact without a source is unknown, and permits nothing."`
	Doors DoorBlocks             `yaml:"doors" doc:"Other protocols for agents, with the same intents, agreements, limits and ledger."`
	// Invoices has no Seller.Name if none is configured.
	Invoices Invoices `yaml:"invoices" doc:"The parts of invoices and credit notes of the service other than the charges: the seller, and the tax."`
	// Profiles have no Data if they name a built-in vocabulary.
	Profiles  []File `yaml:"profiles" max:"32" doc:"Vocabularies of the profiles that the policy uses: files in Turtle or JSON-LD, relative to this file, or names of built-in ones such as catena-x."`
	publicDef bool
}

// A DatedPolicy is a policy and the time when it takes effect.
type DatedPolicy struct {
	File File `yaml:"file" required:"true" doc:"An ODRL policy, relative to this file."`
	// From is zero only for the first policy.
	From time.Time `yaml:"from" doc:"When the policy takes effect, such as 2026-12-01T00:00Z or 2026-12-01T09:00:00+01:00. Required, except for the first policy."`

	unread error // why the file of a policy that is not the last one could not be read
}

// Unread returns why File could not be read, or nil. Load reports it only for the last policy, because the others may have ended.
func (p DatedPolicy) Unread() error { return p.unread }

// Versions returns the policies of the service in the order in which they take effect. There is at least one.
func (s *Service) Versions() []DatedPolicy {
	if len(s.Policies) > 0 {
		return s.Policies
	}
	return []DatedPolicy{{File: s.PolicyFile}}
}

// PolicyPath returns where the configuration names the file of Versions()[i]: the path of the setting, relative to the service.
func (s *Service) PolicyPath(i int) string {
	if len(s.Policies) > 0 {
		return fmt.Sprintf("policies[%d].file", i)
	}
	return "policy_file"
}

// IssuerOr returns the configured issuer or, if there is none, namespace. Pass the namespace of the service's first intent.
func (s *Service) IssuerOr(namespace string) string { return cmp.Or(s.Issuer, namespace) }

// An Upstream is the API behind a service.
type Upstream struct {
	URL               *url.URL      `yaml:"url" required:"true" unless:"mcp" example:"http://127.0.0.1:9000" doc:"Base URL, such as http://127.0.0.1:9000. It replaces the scheme and the host of each intent's endpoint, and its path precedes that of the endpoint."`
	MCP               MCPServer     `yaml:"mcp" doc:"Instead of url, a server of the Model Context Protocol: each intent calls one of its tools."`
	Execute           string        `yaml:"execute" doc:"Path to which calls to intents without an endpoint are posted."`
	Timeout           time.Duration `yaml:"timeout" default:"10s" min:"1ms" max:"10m" doc:"Time limit for one call, including retries."`
	Concurrency       int           `yaml:"concurrency" default:"1024" min:"1" max:"65536" doc:"Maximum number of calls in progress. The same number of further calls can wait, for up to 2 seconds, and agents take turns. One agent can use at most as many places as remain free for other agents; all unapproved agents together can use at most three quarters of the places."`
	MaxResponse       int64         `yaml:"max_response" default:"8MiB" min:"1KiB" max:"256MiB" doc:"Maximum size of a response."`
	IdempotencyHeader string        `yaml:"idempotency_header" doc:"Header by which the API recognizes a repeated call. The gateway sends the execution id in it. Without this header, the gateway retries only GET and HEAD requests."`
	ErrorMessage      string        `yaml:"error_message" doc:"JSON pointer to the message in the API's errors, such as /error/text. Default: members such as message, detail, title and error."`
	Reconcile         Reconcile     `yaml:"reconcile" doc:"How the gateway queries the API about calls of unknown outcome, so that it can settle them."`
	Auth              Auth          `yaml:"auth" doc:"The operator's credentials for the API, in any combination. Agents can neither read nor set them."`
	Breaker           Breaker       `yaml:"breaker" doc:"Stops the calls to an intent after repeated failures."`
}

// An MCPServer is a server of the Model Context Protocol behind a service. Exactly one of URL and Command is set; the URL is then also
// that of the Upstream.
type MCPServer struct {
	URL     *url.URL `yaml:"url" example:"https://tools.shop.example/mcp" doc:"The endpoint of a server over Streamable HTTP. Credentials for it are in upstream.auth."`
	Command string   `yaml:"command" example:"/usr/local/bin/shop-tools" doc:"Instead of url, the program of a server that speaks MCP on its standard input and output. The gateway starts it and, after it has ended, starts it again after a pause. A name without a slash is searched for in the PATH of the gateway."`
	Args    []string `yaml:"args" max:"256" doc:"Arguments of command."`
	Dir     string   `yaml:"dir" example:"/srv/shop-tools" doc:"Working directory of command: an absolute path. Default: that of the gateway."`
	// Env and SecretEnv together are the whole environment of the process.
	Env       map[string]Value `yaml:"env" max:"256" doc:"Environment of command: name to value. It receives no other variable of the gateway, not even PATH."`
	SecretEnv map[string]Value `yaml:"secret_env" max:"256" doc:"Like env, for secrets such as ${file:/run/secrets/shop-key}: the gateway removes these values from responses."`
	Sessions  int              `yaml:"sessions" default:"1" min:"1" max:"64" doc:"Number of sessions that all calls share. With command, each session is a separate process."`
}

// IsSet reports whether the service is an MCP server.
func (m *MCPServer) IsSet() bool { return m.URL != nil || m.Command != "" }

// A Sign is a condition on a response: that its status is one of a list, as in "200, 201", or that its body has a certain value, as in
// /done or /state=paid.
type Sign string

// Reconcile configures how the gateway requests the outcome of a call from an upstream.
type Reconcile struct {
	URL     string `yaml:"url" example:"/orders/{execution_id}" doc:"Path of the API that the gateway queries with GET, with {execution_id} in it. Without {execution_id}, the id is sent in idempotency_header. Empty: the gateway does not query the API."`
	Done    Sign   `yaml:"done" example:"200" doc:"The response that means that the call happened: statuses, such as \"200, 201\", or a JSON pointer to a member of the response that is true, or has a certain value, as in /state=paid. Required with url."`
	NotDone Sign   `yaml:"not_done" example:"404" doc:"The response that means that the call did not happen and never will, written like done. After any other response, the gateway queries again."`
}

// Auth holds the credentials for an upstream. Sent has the headers that result from header, headers and basic.
type Auth struct {
	Header  Secret           `yaml:"header" doc:"A header, such as \"X-Api-Key: ${file:/run/secrets/api-key}\"."`
	Headers map[string]Value `yaml:"headers" max:"32" doc:"Headers: name to value."`
	Query   map[string]Value `yaml:"query" max:"32" doc:"Members of the query: name to value. services[].fixed takes precedence."`
	Body    map[string]Value `yaml:"body" max:"32" doc:"Members of each body: a map from a name or a JSON pointer to a value. services[].fixed takes precedence."`
	Basic   Secret           `yaml:"basic" doc:"user:password for HTTP basic authentication."`
	OAuth2  OAuth2           `yaml:"oauth2" doc:"An access token obtained with client credentials (RFC 6749 4.4), sent as Authorization: Bearer, and renewed before it expires."`

	Sent map[string]Secret `yaml:"-"` // by canonical name
}

// OAuth2 configures the source of an upstream's access tokens.
type OAuth2 struct {
	TokenURL     *url.URL `yaml:"token_url" doc:"The token endpoint: https, unless its host is loopback or that of upstream.url."` // nil means none
	ClientID     string   `yaml:"client_id" doc:"The client id. Required with token_url."`
	ClientSecret Secret   `yaml:"client_secret" doc:"The client secret, such as ${file:/run/secrets/client-secret}. Required with token_url."`
	Scopes       []string `yaml:"scopes" max:"64" doc:"Scopes to request. Empty: the default scopes of the token server."`
}

// A Breaker configures how the gateway rejects calls to an intent for some time after consecutive failures.
type Breaker struct {
	Failures int           `yaml:"failures" default:"5" min:"1" max:"10000" doc:"Number of consecutive failures that stop the calls to an intent: all calls if at least two agents had the failures, otherwise only the calls of the one agent."`
	OpenFor  time.Duration `yaml:"open_for" default:"10s" min:"100ms" max:"1h" doc:"Time until the next call is tried."`
}

// A Party is an agent that a policy names by IRI.
type Party struct {
	AgentID string `yaml:"agent_id" required:"true" doc:"1 to 200 visible ASCII characters. Reserved for this party."`
	Key     string `yaml:"key" doc:"RFC 7638 thumbprint of its key: 43 characters."` // empty means any key of the agent
}

// An IntentRule adds to the rules of the policy about one intent.
type IntentRule struct {
	Agreement AgreementRule    `yaml:"agreement" default:"any" enum:"any,fresh" doc:"fresh: the intent accepts only PATs from a fresh agreement."`
	Proof     ProofRule        `yaml:"proof" enum:"required,optional" doc:"Whether each call needs a proof of key: required, or optional, which leaves it to the policy. Default: required for calls that cost money."`
	Confirm   ConfirmRule      `yaml:"confirm" enum:"always" doc:"always: a person must confirm each call under consent, even if it costs nothing. Default: only calls above doors.mcp.consent.budget.confirm_above."`
	Ceiling   limit.Rate       `yaml:"ceiling" doc:"Maximum calls of all agents together, such as 1000/hour. Default: only pat.newcomers applies."` // an empty Period means none
	Timeout   time.Duration    `yaml:"timeout" min:"1ms" max:"10m" doc:"Time limit for one call to this intent, including retries. Agents read it as x-timeout in agents.json, and wait for that time. Default: upstream.timeout."`
	Fixed     map[string]Value `yaml:"fixed" max:"256" doc:"Like services[].fixed, for this intent. If both have a value for the same place, this one is sent."`
	Answers   Answers          `yaml:"answers" enum:"strict,lenient" doc:"Like services[].answers, for this intent. Default: the value for the service."` // empty means that of the service
	ErrorWhen ErrorWhen        `yaml:"error_when" doc:"Like services[].error_when, for this intent. Default: the value for the service."`
}

// TimeoutOf returns the time limit for one call to an intent.
func (s *Service) TimeoutOf(uid string) time.Duration {
	return cmp.Or(s.Intents[uid].Timeout, s.Upstream.Timeout)
}

// LongestTimeout returns the longest time limit of a call.
func (s *Service) LongestTimeout() time.Duration {
	longest := s.Upstream.Timeout
	for _, rule := range s.Intents {
		longest = max(longest, rule.Timeout)
	}
	return longest
}

// An ErrorWhen describes which responses with a 2xx status are refusals. The zero value describes none.
type ErrorWhen struct {
	Pointer string `yaml:"pointer" doc:"JSON pointer to a member of the response, such as /ok."`
	Equals  Value  `yaml:"equals" doc:"The value that means a refusal, such as false. Default: any value except null, false, 0 and an empty string, array or object; for example, a list of errors."`
	Message string `yaml:"message" doc:"JSON pointer to the message, such as /error. Default: members such as message, detail, title and error."`
}

// FactSources are the sources of a fact, in the order in which they are tried.
type FactSources []FactSource

// A FactSource is one source of a fact: exactly one of the members is set.
type FactSource struct {
	Claim     string            `yaml:"claim" doc:"A claim of the PAT: sub, or a name that the agent declared in the agreement it signed."`
	Parameter string            `yaml:"parameter" doc:"JSON pointer (RFC 6901) into the parameters of the call, such as /purpose. The gateway does not verify the agent's value."`
	Header    string            `yaml:"header" doc:"A request header, trusted only if the request comes directly from one of server.trusted_proxies, which must set or remove the header."`
	Address   bool              `yaml:"address" doc:"The client address that the gateway also uses for rate limits."`
	Value     []string          `yaml:"value" max:"64" doc:"The operator's values, the same for every call."`
	Agents    map[string]Values `yaml:"agents" max:"100000" doc:"The operator's values for each agent: a map from agent_id to values."`
}

// Values are the values of one fact.
type Values []string

// PAT configures how PATs are issued, and which agents get them.
type PAT struct {
	Algorithm    Algorithm     `restart:"true" yaml:"algorithm" default:"EdDSA" enum:"EdDSA,ES256,RS256" doc:"Signature algorithm of new tokens."`
	TTL          time.Duration `yaml:"ttl" default:"1h" min:"1s" max:"24h" doc:"Lifetime of a token."`
	Leeway       time.Duration `yaml:"leeway" default:"30s" min:"0s" max:"5m" doc:"Tolerated difference between clocks."`
	RenewGrace   time.Duration `yaml:"renew_grace" default:"0s" min:"0s" max:"24h" doc:"Time after the expiry of a token in which it can still be renewed."`
	Freshness    Freshness     `yaml:"freshness" default:"optional" enum:"optional,required" doc:"required: agreements that could be replayed (a bare signature over the policy) are refused."`
	Admission    Admission     `yaml:"admission" default:"open" enum:"open,allowlist,approval" doc:"open: every key that agrees. allowlist: the keys in allow. approval: the operator approves each agent."`
	Allow        []Allowed     `yaml:"allow" max:"10000" doc:"Admitted keys: thumbprints, or {id, key} to reserve an agent id for the key."`
	Limit        limit.Rate    `yaml:"limit" default:"10000/hour" doc:"Limit on the calls of one agent, used if no limit of the policy covers all intents of its PAT."`
	Newcomers    limit.Rate    `yaml:"newcomers" default:"100000/hour" doc:"Limit on the free calls to each intent by all unapproved agents together, with open admission, if the intent has no ceiling. For calls that cost money, billing sets the limit."`
	SuspendAfter int           `yaml:"suspend_after" default:"0" min:"0" max:"1000000000" doc:"Number of refused attempts within one period of a limit after which the agent is blocked, if the policy forbids exceeding the limit. 0: never."`
}

// Allowed is one permitted key. AgentID is empty if the entry is only a thumbprint.
type Allowed struct {
	AgentID string `yaml:"id" required:"true" doc:"Agent id reserved for the key."`
	Key     string `yaml:"key" required:"true" short:"true" pattern:"^[A-Za-z0-9_-]{43}$" doc:"RFC 7638 thumbprint: 43 characters."`
}

// Billing limits the debt of agents.
type Billing struct {
	Mode   BillingMode  `yaml:"mode" default:"postpaid" enum:"postpaid,prepaid" doc:"prepaid: agents can spend only the balance that the operator has added."`
	Credit money.Amount `yaml:"credit" doc:"Maximum that an agent may owe, such as 10 USD. Required if the policy has prices, unless mode is prepaid."` // an empty Currency means none
	// Newcomers has the currency of Credit, and is at most Credit.
	Newcomers money.Amount `yaml:"newcomers" doc:"Maximum that one unapproved agent may owe, with open admission. Default: a tenth of credit. All unapproved agents together may owe at most credit. Credit that they use becomes available again gradually, within 24 hours."`
	// Low has the currency of Credit, and is at most Credit, unless Mode is Prepaid.
	Low    money.Amount  `yaml:"low" doc:"Threshold of the notice credit.low, such as 1 USD: the gateway posts it when an approved agent can spend less. Default: a tenth of credit; with mode prepaid: none."`
	Retain time.Duration `yaml:"retain" default:"400d" min:"1d" max:"36500d" doc:"How long the ledger is kept."`
}

// Audit holds the options of the audit stream.
type Audit struct {
	Parameters bool       `yaml:"parameters" default:"false" doc:"Write facts from parameters in plain text. Default: their SHA-256."`
	Required   bool       `yaml:"required" default:"false" doc:"Make no call without a record: the gateway writes a record before it makes a call and before it sends the response, and refuses calls while it cannot write."`
	Index      AuditIndex `yaml:"index" doc:"The explanations of requests that uimgate why finds in the store, by their id."`
	// Changes of Export take effect only after a restart.
	Export AuditExport `restart:"true" yaml:"export" doc:"Send the audit stream to a collector as well: http, otlp or syslog. The file remains, and each record is sent at least once."`
}

// AuditIndex bounds the explanations of requests in the store.
type AuditIndex struct {
	Retain time.Duration `yaml:"retain" default:"72h" min:"0s" max:"90d" doc:"How long uimgate why finds a request. 0s: requests are not recorded."`
	Limit  limit.Rate    `yaml:"limit" default:"600/minute" doc:"Maximum number of requests that each process records. Permitted calls take at most half of it, requests without an accepted PAT a quarter, and one agent a quarter. A record has about 700 bytes, and at most 8 KiB."`
}

// Telemetry configures logs, metrics and their export.
type Telemetry struct {
	Log     Log  `restart:"true" yaml:"log" doc:"The log, on stderr."`
	Metrics bool `yaml:"metrics" default:"true" doc:"Serve /metrics on the admin listener, and on listen."`
	// Listen is empty if there is no such listener.
	Listen string `restart:"true" yaml:"listen" doc:"Address and port of a listener for probes and Prometheus, which other machines may reach: /livez, /healthz, /readyz and /metrics over HTTP, without TLS and without the admin API. Empty: none."`
	// TraceURL contains {trace_id}, or is empty.
	TraceURL string `yaml:"trace_url" example:"https://traces.example/trace/{trace_id}" doc:"Address of a trace in your collector, for the links of the console: an http or https URL with {trace_id}. Empty: no links."`
	OTLP     OTLP   `restart:"true" yaml:"otlp" doc:"Export traces, metrics and the log to an OpenTelemetry collector, by OTLP over HTTP."`
}

// A Log configures the log, which is written to stderr.
type Log struct {
	Level  LogLevel  `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Least severe level that is logged."`
	Format LogFormat `yaml:"format" default:"auto" enum:"auto,json,console" doc:"auto: console on a terminal, json otherwise."`
}
