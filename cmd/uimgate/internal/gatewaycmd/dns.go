package gatewaycmd

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/bindings/announce"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/pat/keys"
)

// recordTTL is the TTL of the printed records. It is long enough for caching and short enough for corrections.
const recordTTL = time.Hour

// dnsSettings are the flags of uimgate dns.
type dnsSettings struct {
	config, service, domain, output, server, registry string
	verify                                            bool
}

// DNS returns the command uimgate dns.
func DNS() *cobra.Command {
	s := &dnsSettings{}
	c := &cobra.Command{
		Use: "dns", Short: "Print or verify the DNS records that lead agents to a service",
		Long: `Dns prints the TXT records that lead agents from a domain to its agents.json and policy, as lines of a
zone file or as JSON. Add them to the zone of the domain. The domain is the service's issuer if that is a
domain name, and otherwise the host of its public_url. With --verify, dns looks the records up in DNS
instead, and reports those that are missing, different or surplus; if there are any, the exit code is 1.

With --mcp-registry, dns also prints the record that proves to the MCP registry who may list servers of
the domain. It contains the public key of an Ed25519 key in a PEM file, which dns creates if the file does
not exist. See uimgate server-json.`,
		Example: `  uimgate dns -c uimgate.yaml >> shop.example.zone
  uimgate dns -c uimgate.yaml --service shop -o json
  uimgate dns -c uimgate.yaml --verify --server 127.0.0.1:5353
  uimgate dns -c uimgate.yaml --mcp-registry mcp-registry.pem`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if s.output != "zone" && s.output != "json" {
				return cli.Usage(fmt.Errorf("-o must be zone or json, not %q", s.output))
			}
			if s.server != "" && !s.verify {
				return cli.Usage(errors.New("--server requires --verify"))
			}
			return s.run(c)
		},
	}
	f := c.Flags()
	s.serviceFlags(c)
	f.StringVarP(&s.output, "output", "o", "zone", "zone or json")
	f.StringVar(&s.registry, "mcp-registry", "", "file with the private key that proves control of the domain to the MCP registry")
	f.BoolVar(&s.verify, "verify", false, "compare the records with those in DNS")
	f.StringVar(&s.server, "server", "", "DNS server to verify with, such as 127.0.0.1:5353 (default those of /etc/resolv.conf)")
	return c
}

// serviceFlags adds the flags that select the service and its domain.
func (s *dnsSettings) serviceFlags(c *cobra.Command) {
	configFlag(c, &s.config)
	c.Flags().StringVar(&s.service, "service", "", "id of the service, if there are several")
	c.Flags().StringVar(&s.domain, "domain", "", "domain that agents will name (default: the issuer or the host of public_url)")
}

// load loads the configuration, and returns the selected service and the values of its records. If needed is not nil, it reads only the
// values that needed selects. If the configuration is invalid, it prints the problems and returns cli.ErrSilent. It prints a warning for
// each valid setting that may make the records useless.
func (s *dnsSettings) load(c *cobra.Command, needed func(string, bool) bool) (*service.Definition, discovery.Service, error) {
	cfg, problems := config.Load(s.config, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv, Needed: needed})
	var loaded *service.LoadedConfig
	if cfg != nil {
		for i := range cfg.Services {
			if needed != nil {
				withoutSecrets(&cfg.Services[i])
			}
		}
		var more config.Problems
		loaded, more = service.Load(c.Context(), cfg, time.Now)
		problems = append(problems, more...)
	}
	if problems.Failed() || loaded == nil {
		cli.PrintProblems(c.ErrOrStderr(), problems)
		return nil, discovery.Service{}, cli.ErrSilent
	}
	facts, at, err := s.records(c, cfg)
	if err != nil {
		return nil, discovery.Service{}, err
	}
	return loaded.Definitions()[at], facts, nil
}

// notInDNS matches values of the configuration that the DNS records do not depend on, and that often name secrets.
var notInDNS = regex.Lazy(`^(server\.tls|services\[\d+\]\.(upstream\.(auth|mcp\.(secret_)?env)|fixed|intents\["[^"]*"\]\.fixed))\b`)

// inDNS reports whether the DNS records may depend on a value of the configuration: on a public_url, or on any other value that is not a
// secret and that notInDNS does not match.
func inDNS(path string, secret bool) bool {
	return strings.HasSuffix(path, "].public_url") || !secret && !notInDNS().MatchString(path)
}

// withoutSecrets removes the settings of a service that notInDNS matches, because their secrets were not read.
func withoutSecrets(s *config.Service) {
	s.Upstream.Auth, s.Fixed = config.Auth{}, nil
	s.Upstream.MCP.Env, s.Upstream.MCP.SecretEnv = nil, nil
	for uid, rule := range s.Intents {
		rule.Fixed = nil
		s.Intents[uid] = rule
	}
}

// records returns the values of the records of the selected service, and the index of the service.
func (s *dnsSettings) records(c *cobra.Command, cfg *config.Config) (discovery.Service, int, error) {
	chosen, at, err := s.choose(cfg)
	if err != nil {
		return discovery.Service{}, 0, err
	}
	catalog, found := intents.Parse(chosen.AgentsFile.Data, intents.Options{})
	if catalog == nil {
		return discovery.Service{}, 0, fmt.Errorf("%s: %s", chosen.AgentsFile.Path, found[0])
	}
	facts, err := s.facts(chosen, catalog)
	if err != nil {
		return discovery.Service{}, 0, err
	}
	for _, w := range recordWarnings(facts, chosen, catalog) {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s\n", w)
	}
	return facts, at, nil
}

func (s *dnsSettings) run(c *cobra.Command) error {
	_, facts, err := s.load(c, inDNS)
	if err != nil {
		return err
	}
	want, err := discovery.Records(facts)
	if err != nil {
		return err
	}
	if s.registry != "" {
		proof, err := s.proof(c, facts.Domain)
		if err != nil {
			return err
		}
		want = append(want, proof)
	}
	if s.verify {
		return s.compare(c, facts.Domain, want)
	}
	if s.output == "json" {
		return cli.PrintJSON(c.OutOrStdout(), recordList(want))
	}
	_, err = io.WriteString(c.OutOrStdout(), discovery.Zone(want, recordTTL))
	return err
}

// choose returns the selected service and its index. The error is a usage error.
func (s *dnsSettings) choose(cfg *config.Config) (*config.Service, int, error) {
	ids := make([]string, 0, len(cfg.Services))
	for i := range cfg.Services {
		ids = append(ids, cfg.Services[i].ID)
	}
	switch i := slices.Index(ids, s.service); {
	case i >= 0:
		return &cfg.Services[i], i, nil
	case s.service != "":
		return nil, 0, cli.Usage(fmt.Errorf("the configuration has no service %q; the services are %s", s.service, strings.Join(ids, ", ")))
	case len(ids) > 1:
		return nil, 0, cli.Usage(fmt.Errorf("there are several services: choose one with --service: %s", strings.Join(ids, ", ")))
	}
	return &cfg.Services[0], 0, nil
}

// facts returns the values of the records, from the agents.json and the public_url of the service.
func (s *dnsSettings) facts(c *config.Service, catalog *intents.Catalog) (discovery.Service, error) {
	at := func(path string) string { return c.PublicURL.JoinPath(path).String() }
	facts := discovery.Service{
		AgentsFile: at("/agents.json"), Discovery: catalog.Discovery, Policy: catalog.PolicyFile, License: catalog.License,
	}
	if facts.Discovery == "" {
		facts.Discovery = at("/api/intents/search")
	}
	if facts.Policy == "" {
		facts.Policy = at("/api/policy")
	}
	if s.domain != "" {
		domain, err := discovery.ParseDomain(s.domain)
		if err != nil {
			return discovery.Service{}, cli.Usage(fmt.Errorf("--domain: %w", err))
		}
		facts.Domain = domain
		return facts, nil
	}
	for _, name := range []string{issuerOf(c, catalog), c.PublicURL.Hostname()} {
		if domain, err := discovery.ParseDomain(name); err == nil && strings.Contains(domain, ".") {
			facts.Domain = domain
			return facts, nil
		}
	}
	return discovery.Service{}, cli.Usage(errors.New("neither the issuer nor public_url has a domain: name one with --domain"))
}

func issuerOf(c *config.Service, catalog *intents.Catalog) string {
	namespace := ""
	if spaces := catalog.Namespaces(); len(spaces) > 0 {
		namespace = spaces[0]
	}
	issuer := c.IssuerOr(namespace)
	if _, rest, ok := strings.Cut(issuer, "://"); ok {
		issuer, _, _ = strings.Cut(rest, "/")
	}
	return strings.ToLower(issuer)
}

// recordWarnings returns the reasons why agents may be unable to use records that are valid.
func recordWarnings(facts discovery.Service, c *config.Service, catalog *intents.Catalog) []string {
	var out []string
	if fetch.LoopbackHost(c.PublicURL.Hostname()) {
		out = append(out, fmt.Sprintf(
			"the records lead to %s, which only this machine can reach: set public_url before you publish them", fetch.Origin(c.PublicURL)))
	}
	for n, name := range append([]string{issuerOf(c, catalog)}, catalog.Namespaces()...) {
		if what := "the namespace"; !discovery.SpeaksFor(facts.Domain, strings.ToLower(name)) {
			if n == 0 {
				what = "the issuer"
			}
			out = append(out, fmt.Sprintf("%s does not vouch for %s %s: careful agents will reject the files that they find through it", facts.Domain, what, name))
		}
	}
	return slices.Compact(out)
}

// A dnsRecord is a TXT record as uimgate dns -o json prints it.
type dnsRecord struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	TTL     int      `json:"ttl"`
	Text    string   `json:"text"`
	Strings []string `json:"strings"` // text in parts of at most 255 bytes
}

func recordList(records []discovery.Record) []dnsRecord {
	out := make([]dnsRecord, 0, len(records))
	for _, r := range records {
		out = append(out, dnsRecord{r.Name, "TXT", int(recordTTL.Seconds()), r.Text(), r.Strings()})
	}
	return out
}

// compare looks up the records of a domain in DNS and prints how they differ from the wanted records. If they differ, it returns
// cli.ErrSilent.
func (s *dnsSettings) compare(c *cobra.Command, domain string, want []discovery.Record) error {
	o := discovery.Options{Names: -1}
	if s.server != "" {
		o.Servers = []string{s.server}
	}
	have, authenticated, err := discovery.New(o).Records(c.Context(), domain)
	if err != nil {
		return fmt.Errorf("looking up the records of %s: %w", domain, err)
	}
	if s.registry == "" {
		have = slices.DeleteFunc(have, func(r discovery.Record) bool { return r.Field == discovery.MCPRegistry })
	}
	differences := discovery.Compare(want, have)
	if s.output == "json" {
		if differences == nil {
			differences = []discovery.Difference{}
		}
		err = cli.PrintJSON(c.OutOrStdout(), map[string]any{"domain": domain, "authenticated": authenticated, "differences": differences})
	} else {
		for _, d := range differences {
			_, printErr := fmt.Fprintln(c.OutOrStdout(), d)
			err = errors.Join(err, printErr)
		}
	}
	if err != nil {
		return err
	}
	if len(differences) > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %d records are missing in DNS, different or surplus\n", domain, len(differences))
		return cli.ErrSilent
	}
	dnssec := "without DNSSEC"
	if authenticated {
		dnssec = "authenticated by DNSSEC"
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s: good: %d records, %s\n", domain, len(want), dnssec)
	return nil
}

// ServerJSON returns the command uimgate server-json.
func ServerJSON() *cobra.Command {
	s := &dnsSettings{}
	version := ""
	c := &cobra.Command{
		Use: "server-json", Short: "Print the server.json that lists the MCP endpoint in the MCP registry",
		Long: `Server-json prints the server.json of a service's MCP endpoint, which mcp-publisher submits to the MCP
registry. The name in it begins with the reversed domain. Server-json chooses the domain as uimgate dns
does; the record that uimgate dns --mcp-registry prints proves to the registry that you control it. The
registry accepts each version only once.`,
		Example: `  uimgate server-json -c uimgate.yaml > server.json
  uimgate server-json -c uimgate.yaml --service shop --version 1.0.1`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			definition, facts, err := s.load(c, nil)
			if err != nil {
				return err
			}
			card, err := announce.ServerJSON(definition, facts.Domain, version)
			if errors.Is(err, announce.ErrVersion) {
				return cli.Usage(fmt.Errorf("--version: %w", err))
			}
			if err != nil {
				return err
			}
			return cli.PrintJSON(c.OutOrStdout(), card)
		},
	}
	s.serviceFlags(c)
	c.Flags().StringVar(&version, "version", "1.0.0", "version of the listing, higher than the previous one")
	return c
}

// proof returns the record with the key that proves control of a domain to the MCP registry. If there is no key, it creates one, unless the
// command only verifies records.
func (s *dnsSettings) proof(c *cobra.Command, domain string) (discovery.Record, error) {
	key, err := agent.LoadKey(s.registry)
	if errors.Is(err, os.ErrNotExist) && !s.verify {
		if key, err = agent.NewKey(keys.EdDSA); err == nil {
			err = agent.SaveKey(s.registry, key)
		}
		if err == nil {
			fmt.Fprintf(c.ErrOrStderr(), "created the key %s: anyone who has it can list servers in the name of %s\n", s.registry, domain)
		}
	}
	if err != nil {
		return discovery.Record{}, err
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return discovery.Record{}, cli.Usage(fmt.Errorf("%s: --mcp-registry requires an Ed25519 key", s.registry))
	}
	return discovery.MCPProof(domain, public)
}
