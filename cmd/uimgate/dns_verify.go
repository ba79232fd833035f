package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/discovery"
)

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

// compare asks DNS for the records of a domain and says how they differ from those wanted.
func (s *dnsSettings) compare(c *cobra.Command, domain string, want []discovery.Record) error {
	o := discovery.Options{Names: -1}
	if s.server != "" {
		o.Servers = []string{s.server}
	}
	have, authenticated, err := discovery.New(o).Published(c.Context(), domain)
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
