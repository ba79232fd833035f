// Package discovery lets agents find a service by its domain alone. It creates the DNS TXT records that point to the agents.json of a
// service, and looks up the records of other services. See UIM core, section 5.1.
//
// A service publishes its records once:
//
//	records, err := discovery.Records(discovery.Service{Domain: "shop.example", AgentsFile: "https://shop.example/agents.json"})
//	fmt.Print(discovery.Zone(records, time.Hour)) // lines for the zone file
//
// An agent looks them up:
//
//	resolver := discovery.New(discovery.Options{}) // the servers of /etc/resolv.conf
//	listing, err := resolver.Lookup(ctx, "shop.example")
//
// UIM defines two forms of records. The specification puts uim-agents-file and similar keys at the domain itself. Its draft puts
// uim-agents and similar keys at the label _uim below the domain. The package publishes and reads both forms; if they differ, the records
// at _uim take precedence.
//
// Records are untrusted input. The package does not fetch the URLs in them; a caller that does must first check their addresses, as
// package internal/fetch does.
//
// The package supports neither DNS over TLS nor DNS over HTTPS. It does not validate DNSSEC itself: a Listing reports whether the DNS
// server has validated the answers.
package discovery
