package agentcmd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent/stubs"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents"
)

// maxCatalog is the maximum size of an agents.json that Types reads from a file, in bytes.
const maxCatalog = 16 << 20

// Types returns the command uimgate types.
func Types() *cobra.Command {
	s := &agentSettings{}
	var script, python bool
	c := &cobra.Command{
		Use: "types SERVICE|FILE", Short: "Write typed code for the intents of a service",
		Long: `Types writes a class to stdout, with a method for each intent of a service, and the types of its
parameters and output. The code is for the npm package uimgate with --ts, or for the Python package
with --py. The argument is a file (an agents.json), or a service as in uimgate agent discover.`,
		Example: `  uimgate types --ts shop.example > src/shop.ts
  uimgate types --py agents.json > shop.py`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			language := stubs.TypeScript
			switch {
			case script == python:
				return cli.Usage(errors.New("want either --ts or --py"))
			case python:
				language = stubs.Python
			}
			issuer, catalog, err := s.catalogOf(c, args[0])
			if err != nil {
				return err
			}
			return stubs.Write(c.OutOrStdout(), language, issuer, catalog)
		},
	}
	f := c.Flags()
	f.BoolVar(&script, "ts", false, "write TypeScript")
	f.BoolVar(&python, "py", false, "write Python")
	f.StringVar(&s.dns, "dns", "", "DNS server for finding the service of a domain (default those of /etc/resolv.conf)")
	f.BoolVar(&s.insecure, "insecure", false, "allow http and private addresses (loopback addresses are always allowed)")
	return c
}

// catalogOf reads the intents from the file with this name, if it exists, and otherwise from the service.
func (s *agentSettings) catalogOf(c *cobra.Command, where string) (issuer string, catalog *intents.Catalog, err error) {
	if info, err := os.Stat(where); err == nil && info.Mode().IsRegular() {
		return readCatalog(where)
	}
	client, err := s.client(false)
	if err != nil {
		return "", nil, err
	}
	defer client.Close()
	service, err := client.Discover(c.Context(), where)
	if err != nil {
		return "", nil, err
	}
	catalog, err = service.Catalog(c.Context())
	return service.Issuer(), catalog, err
}

func readCatalog(path string) (issuer string, catalog *intents.Catalog, err error) {
	data, err := cli.ReadNamed(path, maxCatalog)
	if err != nil {
		return "", nil, err
	}
	catalog, problems := intents.Parse(data, intents.Options{Now: time.Now()})
	if catalog == nil {
		return "", nil, fmt.Errorf("%s is not an agents.json: %s", path, printable(problems[0].String()))
	}
	issuer = catalog.Issuer
	if spaces := catalog.Namespaces(); issuer == "" && len(spaces) > 0 {
		issuer = spaces[0]
	}
	return issuer, catalog, nil
}
