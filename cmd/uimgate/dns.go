package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
)

// recordTTL is the TTL of the printed records: long enough to be cached, short enough for corrections.
const recordTTL = time.Hour

// dnsSettings are the flags of uimgate dns.
type dnsSettings struct {
	config, service, domain, output, server string
	verify                                  bool
}

func dnsCommand() *cobra.Command {
	s := &dnsSettings{}
	c := &cobra.Command{
		Use: "dns", Short: "Print the DNS records agents find a service by, or check that they are there",
		Long: `Dns prints the TXT records that lead agents from a domain to its agents.json and policy, as lines of a
zone file or as JSON. They go into the zone of the domain, which by default is the service's issuer if
that is a domain, else the host of its public_url. With --verify it asks DNS for them instead, and says
what is missing, different or surplus; then the exit code is 1.`,
		Example: `  uimgate dns -c uimgate.yaml >> shop.example.zone
  uimgate dns -c uimgate.yaml --service shop -o json
  uimgate dns -c uimgate.yaml --verify --server 127.0.0.1:5353`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if s.output != "zone" && s.output != "json" {
				return usageError{fmt.Errorf("-o is zone or json, not %q", s.output)}
			}
			if s.server != "" && !s.verify {
				return usageError{errors.New("--server is for --verify")}
			}
			return s.run(c)
		},
	}
	configFlag(c, &s.config)
	f := c.Flags()
	f.StringVar(&s.service, "service", "", "id of the service, where there are several")
	f.StringVar(&s.domain, "domain", "", "the domain agents will name, instead of the issuer or the host of public_url")
	f.StringVarP(&s.output, "output", "o", "zone", "zone or json")
	f.BoolVar(&s.verify, "verify", false, "compare with what DNS has")
	f.StringVar(&s.server, "server", "", "DNS server to verify with, such as 127.0.0.1:5353 (default those of /etc/resolv.conf)")
	return c
}

func (s *dnsSettings) run(c *cobra.Command) error {
	cfg, problems := config.Load(s.config, config.Overrides{Env: os.LookupEnv})
	if cfg != nil {
		_, more := service.Load(c.Context(), cfg, time.Now)
		problems = append(problems, more...)
	}
	if problems.Failed() || cfg == nil {
		printProblems(c.ErrOrStderr(), problems)
		return errSilent
	}
	chosen, err := s.choose(cfg)
	if err != nil {
		return err
	}
	catalog, found := intents.Parse(chosen.AgentsFile.Data, intents.Options{})
	if catalog == nil {
		return fmt.Errorf("%s: %s", chosen.AgentsFile.Path, found[0])
	}
	facts, err := s.facts(chosen, catalog)
	if err != nil {
		return err
	}
	want, err := discovery.Records(facts)
	if err != nil {
		return err
	}
	for _, w := range recordWarnings(facts, chosen, catalog) {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s\n", w)
	}
	if s.verify {
		return s.compare(c, facts.Domain, want)
	}
	if s.output == "json" {
		return printJSON(c.OutOrStdout(), recordList(want))
	}
	_, err = io.WriteString(c.OutOrStdout(), discovery.Zone(want, recordTTL))
	return err
}

// choose is the service meant.
func (s *dnsSettings) choose(cfg *config.Config) (*config.Service, error) {
	ids := make([]string, 0, len(cfg.Services))
	for i := range cfg.Services {
		ids = append(ids, cfg.Services[i].ID)
	}
	switch i := slices.Index(ids, s.service); {
	case i >= 0:
		return &cfg.Services[i], nil
	case s.service != "":
		return nil, usageError{fmt.Errorf("there is no service %q; there are: %s", s.service, strings.Join(ids, ", "))}
	case len(ids) > 1:
		return nil, usageError{fmt.Errorf("there are several services: choose one with --service: %s", strings.Join(ids, ", "))}
	}
	return &cfg.Services[0], nil
}

// facts are the values of the records: those of the published agents.json.
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
			return discovery.Service{}, usageError{fmt.Errorf("--domain: %w", err)}
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
	return discovery.Service{}, usageError{errors.New("neither the issuer nor public_url has a domain: name one with --domain")}
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

// recordWarnings are the reasons for which records that are well formed may still not help an agent.
func recordWarnings(facts discovery.Service, c *config.Service, catalog *intents.Catalog) []string {
	var out []string
	if fetch.LoopbackHost(c.PublicURL.Hostname()) {
		out = append(out, fmt.Sprintf(
			"the records lead to %s, which only this machine reaches: set public_url before you publish them", fetch.Origin(c.PublicURL)))
	}
	for n, name := range append([]string{issuerOf(c, catalog)}, catalog.Namespaces()...) {
		if what := "the namespace"; !discovery.SpeaksFor(facts.Domain, strings.ToLower(name)) {
			if n == 0 {
				what = "the issuer"
			}
			out = append(out, fmt.Sprintf("%s does not vouch for %s %s: careful agents will refuse what they find there", facts.Domain, what, name))
		}
	}
	return slices.Compact(out)
}

func printJSON(w io.Writer, data any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(data)
}

// A dnsRecord is a TXT record as uimgate dns -o json prints it.
type dnsRecord struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	TTL     int      `json:"ttl"`
	Text    string   `json:"text"`
	Strings []string `json:"strings"` // of at most 255 bytes, which make up text
}

func recordList(records []discovery.Record) []dnsRecord {
	out := make([]dnsRecord, 0, len(records))
	for _, r := range records {
		out = append(out, dnsRecord{r.Name, "TXT", int(recordTTL.Seconds()), r.Text(), r.Strings()})
	}
	return out
}

// compare looks up the records of a domain in DNS and prints how they differ from those wanted.
func (s *dnsSettings) compare(c *cobra.Command, domain string, want []discovery.Record) error {
	o := discovery.Options{Names: -1}
	if s.server != "" {
		o.Servers = []string{s.server}
	}
	have, authenticated, err := discovery.New(o).Records(c.Context(), domain)
	if err != nil {
		return fmt.Errorf("asking DNS for %s: %w", domain, err)
	}
	differences := discovery.Compare(want, have)
	if s.output == "json" {
		if differences == nil {
			differences = []discovery.Difference{}
		}
		err = printJSON(c.OutOrStdout(), map[string]any{"domain": domain, "authenticated": authenticated, "differences": differences})
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
		fmt.Fprintf(c.ErrOrStderr(), "%s: %d of the records in DNS are not as they should be\n", domain, len(differences))
		return errSilent
	}
	dnssec := "without DNSSEC"
	if authenticated {
		dnssec = "authenticated by DNSSEC"
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s: good: %d records, %s\n", domain, len(want), dnssec)
	return nil
}
