// Package discovery lets a service be found by nothing but its domain: it writes the DNS TXT records
// that name a service's agents.json, and reads those of others. UIM core 5.1.
//
// A service publishes them once:
//
//	records, err := discovery.Records(discovery.Service{Domain: "shop.example", AgentsFile: "https://shop.example/agents.json"})
//	fmt.Print(discovery.Zone(records, time.Hour)) // lines for the zone file
//
// and an agent asks for them:
//
//	resolver := discovery.New(discovery.Options{}) // the servers of /etc/resolv.conf
//	found, err := resolver.Lookup(ctx, "shop.example")
//
// UIM knows two forms: the specification has uim-agents-file and its like at the domain itself, its
// draft uim-agents and its like at the label _uim below it. Both are published and both are read; where
// they differ, _uim holds. Whatever a record says is a stranger's word: this package fetches nothing, and
// who does must judge the address first (package agent/fetch).
//
// Not supported: DNS over TLS or HTTPS, and DNSSEC validation of our own. Whether the resolver asked
// has validated an answer is reported.
package discovery
