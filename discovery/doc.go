// Package discovery finds a service by its domain alone: it writes the DNS TXT records that name a service's agents.json, and looks up
// those of other services. UIM core 5.1.
//
// A service publishes them once:
//
//	records, err := discovery.Records(discovery.Service{Domain: "shop.example", AgentsFile: "https://shop.example/agents.json"})
//	fmt.Print(discovery.Zone(records, time.Hour)) // lines for the zone file
//
// and an agent looks them up:
//
//	resolver := discovery.New(discovery.Options{}) // the servers of /etc/resolv.conf
//	listing, err := resolver.Lookup(ctx, "shop.example")
//
// UIM has two forms: the specification has uim-agents-file and similar keys at the domain itself, its draft uim-agents and similar keys
// at the label _uim below it. The package publishes and reads both; if they differ, _uim takes precedence. Records are not trusted: this
// package fetches nothing, and a caller that fetches an address of a record must check it first (package internal/fetch).
//
// Not supported: DNS over TLS or HTTPS, and DNSSEC validation in this package. A Listing reports whether the server has validated the
// answers.
package discovery
