package gatewaycmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents/openapi"
)

// initTime is the time limit of plan, which fetches the document.
const initTime = 2 * time.Minute

type initSettings struct {
	document, out string
	tools         toolServer
	refs          string // directory
	pick          string // file, or - for standard input
	force, review bool
	merge         bool
	ask, serve    bool
	agree         bool // whether the user agrees to the subscriber agreement of the CA

	apply       string // the id of a plan, or anyPlan
	retireAfter string

	lines               *bufio.Scanner // the answers on stdin
	listen, adminListen string
	options             openapi.Options
}

// Init returns the command uimgate init.
func Init() *cobra.Command {
	s := &initSettings{}
	c := &cobra.Command{
		Use: "init", Short: "Create a configuration for your API", Args: cli.Args(cobra.NoArgs),
		Long: `On a terminal, init without flags asks for the domain of your service, the URL of your API, its OpenAPI document and
an email address for TLS certificates. It then creates a configuration, and starts the gateway if you agree. Each
question has a flag that answers it. Without a document, init writes a short one that you extend. With --acme-email,
the gateway serves https://NAMESPACE on port 443 with certificates from Let's Encrypt, which validates the domain on
ports 80 and 443.

Init reads an OpenAPI document (3.0, 3.1 or Swagger 2.0, in JSON or YAML) and writes a working configuration. Its files
are agents.json with the intents, policy.json with conservative limits, uimgate.yaml, openapi.curation.yaml, and a
README.md with the remaining steps. The README.md and stderr list the operations that cannot be offered, with the reasons.

At first, init offers only operations that read. openapi.curation.yaml lists all operations, offered or hidden, with
their names, texts and prices: edit it and run init again. --review prints a table of the operations, and changes
nothing. --pick offers only the operations that a file names. --all also offers operations that write.

Run init again when the document changes. Init keeps your choices. Intents follow the document, except where you
edited them. Init prints a plan: intents that are added, changed, replaced and retired, changes that break agents, and
what changes in each policy. It applies the plan if you confirm it, or with --apply. A change that breaks agents adds
the next version of the intent. The previous version, or an intent whose operation is gone, ends after 30 days or at
--retire-after.

Init does not overwrite other files that you edited, and writes their new text to NAME.new instead.
With --merge, it copies changed prices and limits between the policy and openapi.curation.yaml, in both directions,
and adds permissions to the policy. The policies are those that uimgate.yaml names. If it lists policies with dates,
--merge adds permissions to the one in force and to those that follow it, and changes prices and limits only in the
one in force.

A document may consist of several files: init follows references to .yaml, .yml and .json files in or below its
directory, or in or below the directory that --refs names. It never fetches a reference over the network. An
operation with a reference that cannot be read is not offered, and init names the reference.

Instead of a document, init can read the tools of an MCP server (Model Context Protocol). --mcp names the endpoint of
the server; --mcp-command names a program that is a server on standard input and output. Each tool becomes an
operation, and the gateway calls the tool. At first, init offers only the tools that the server marks as read-only.`,
		Example: `  uimgate init
  uimgate init --namespace example.com --upstream http://localhost:9000 --serve
  uimgate init --openapi api.yaml --namespace example.com
  uimgate init --openapi api.yaml --namespace example.com --acme-email ops@example.com --acme-agree
  uimgate init --openapi https://api.example.com/openapi.json --namespace example.com --out gateway
  uimgate init --openapi api.yaml --namespace example.com --apply --retire-after 60d
  uimgate init --openapi api.yaml --namespace example.com --review
  uimgate init --openapi api.yaml --namespace example.com --pick chosen.txt
  uimgate init --openapi api.yaml --namespace example.com --tag orders --exclude '/internal/*'
  uimgate init --mcp http://127.0.0.1:3001/mcp --namespace example.com
  uimgate init --mcp-command /usr/bin/npx --mcp-arg some-server --mcp-env PATH=/usr/bin --namespace example.com`,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.ask || s.unanswered() && cli.IsTerminal(c.InOrStdin()) {
				if err := s.questions(c.Context(), c.InOrStdin(), c.ErrOrStderr()); err != nil {
					return err
				}
			}
			if s.options.Namespace == "" || s.document == "" && s.options.Upstream == "" && !s.tools.isSet() {
				return cli.Usage(errors.New("--namespace and one of --openapi, --upstream, --mcp and --mcp-command are required; --ask asks for them"))
			}
			if err := s.tools.check(s.document + s.options.Upstream); err != nil {
				return err
			}
			s.options.Tools = s.tools.settings()
			if s.options.Email != "" && !s.agree {
				return cli.Usage(errors.New("--acme-email requires --acme-agree: read " + subscriberAgreement + " and set it if you agree"))
			}
			if s.out == "" {
				s.out = s.options.Namespace
			}
			if s.pick != "" && (s.options.All || len(s.options.Include)+len(s.options.Tags) > 0) {
				return cli.Usage(errors.New("--pick names all operations to offer: omit --all, --include and --tag"))
			}
			if s.pick != "" {
				var err error
				if s.options.Pick, err = readPicks(s.pick, c.InOrStdin()); err != nil {
					return err
				}
			}
			if err := s.setEnds(time.Now()); err != nil {
				return err
			}
			s.out = filepath.Clean(s.out)
			applied, err := s.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
			switch {
			case err != nil || !s.serve || s.review:
				return err
			case !applied:
				return errNotApplied
			}
			return s.start(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.BoolVar(&s.ask, "ask", false, "ask for the settings that no flag sets, even if stdin is not a terminal")
	f.StringVar(&s.document, "openapi", "", "OpenAPI document: a file, or an https URL (http on loopback)")
	f.StringVar(&s.tools.url, "mcp", "", "endpoint of an MCP server whose tools to offer: an https URL (http on loopback)")
	f.StringVar(&s.tools.header, "mcp-header", "", "file with a header line, such as Authorization: Bearer TOKEN, that the server of --mcp requires")
	f.StringVar(&s.tools.command, "mcp-command", "", "program of an MCP server on standard input and output, which the gateway will start")
	f.StringArrayVar(&s.tools.args, "mcp-arg", nil, "argument of --mcp-command; may be repeated")
	f.StringArrayVar(&s.tools.env, "mcp-env", nil, "NAME=VALUE in the environment of --mcp-command, which is otherwise empty; may be repeated")
	f.StringVar(&s.options.Upstream, "upstream", "", "URL of your API, instead of the servers of the document; remembered")
	f.StringVar(&s.options.Email, "acme-email", "", "email address for TLS certificates from Let's Encrypt; remembered")
	f.BoolVar(&s.agree, "acme-agree", false, "agree to the subscriber agreement of Let's Encrypt: "+subscriberAgreement)
	f.BoolVar(&s.serve, "serve", false, "start the gateway with the new configuration")
	f.StringVar(&s.listen, "listen", "", "public address of the gateway that --serve starts, instead of server.listen")
	f.StringVar(&s.adminListen, "admin-listen", "", "admin address of the gateway that --serve starts, instead of admin.listen")
	f.StringVar(&s.options.Namespace, "namespace", "", "DNS name that the intents belong to, such as example.com")
	f.StringVar(&s.out, "out", "", "directory to write to (default: the namespace)")
	f.StringVar(&s.refs, "refs", "", "directory with the files that the document may reference (default: the directory of the document)")
	f.StringArrayVar(&s.options.Include, "include", nil,
		"offer only operations whose operationId or path matches (* matches any text); remembered; may be repeated")
	f.StringArrayVar(&s.options.Exclude, "exclude", nil, "offer no operations whose operationId or path matches; remembered; may be repeated")
	f.StringArrayVar(&s.options.Tags, "tag", nil, "offer only operations with this tag; remembered; may be repeated")
	f.BoolVar(&s.options.All, "all", false, "also offer operations that write, and those that concern access or deletion, but not those for the operator")
	f.StringVar(&s.pick, "pick", "",
		"file (- for stdin) with operationIds, UIDs or \"METHOD /path\", one per line: offer only these operations")
	f.BoolVar(&s.review, "review", false, "print a table of all operations, and change nothing")
	f.StringVar(&s.apply, "apply", "", "apply the plan for an existing configuration; with an id, only if the plan still has this id")
	f.Lookup("apply").NoOptDefVal = anyPlan
	f.StringVar(&s.retireAfter, "retire-after", "",
		"end of intents that are replaced or gone: a date, a time, a number of days such as 14d, or now "+
			"(default: after 30 days); also changes ends that earlier runs set")
	f.BoolVar(&s.options.InPlace, "in-place", false, "change intents in place even if that breaks agents, instead of adding the next version")
	f.BoolVar(&s.merge, "merge", false,
		"copy changed prices and limits between an edited policy and the curation, in both directions, and add permissions to the policy, instead of writing policy.json.new")
	f.BoolVar(&s.force, "force", false, "overwrite all files except the curation, and keep the old ones as NAME.old")
	return c
}

// run writes the configuration. If the directory already has one and --force is not set, run prints a plan, and writes the files
// only if --apply or the user confirms it. applied is false if there are changes that run did not write.
func (s *initSettings) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (applied bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := s.plan(ctx, stderr)
	if err != nil {
		return false, err
	}
	if s.review {
		return false, p.found.Review(stdout, termsOf(ctx, s.out, p.existing)[0].of)
	}
	if p.existing[openapi.RecordFile] != nil && !s.force {
		s.report(stderr, p.found, p.result)
		files := maps.Clone(p.existing)
		maps.Copy(files, p.result.Write)
		planned := termsOf(ctx, s.out, files)
		p.policies = p.policyPlans(termsOf(ctx, s.out, p.existing), planned, s.merge)
		p.print(stdout, s.out, p.missing(planned, s.merge))
		if len(p.writes) == 0 {
			return true, s.finish(ctx, p, stderr)
		}
		if ok, err := s.confirmed(ctx, p, stdin, stderr); err != nil || !ok {
			return false, err
		}
	}
	if err := writeFiles(s.out, p.result.Write); err != nil {
		return false, err
	}
	if p.existing[openapi.RecordFile] == nil || s.force {
		s.report(stderr, p.found, p.result)
	}
	return true, s.finish(ctx, p, stderr)
}

// finish checks the files of the directory, unless the gateway starts and checks them itself.
func (s *initSettings) finish(ctx context.Context, p *plan, stderr io.Writer) error {
	if s.serve {
		return nil
	}
	if err := s.check(ctx, stderr); err != nil {
		return err
	}
	if p.existing[openapi.RecordFile] != nil && len(p.writes) > 0 {
		fmt.Fprintln(stderr, "A running gateway applies the files within seconds.")
	}
	if slices.ContainsFunc(p.policies, func(o policyPlan) bool { return o.inForce && len(o.changed) > 0 }) {
		fmt.Fprintln(stderr, "Agents must then agree to the new prices and limits at once. To give notice, put them into another file, "+
			"and list it under policies with the date in the key \"from\". See docs/for-services/policies.md#change-it-on-a-date")
	}
	return nil
}

// plan reads the directory and the document, and converts the document.
func (s *initSettings) plan(ctx context.Context, stderr io.Writer) (*plan, error) {
	ctx, cancel := context.WithTimeout(ctx, initTime)
	defer cancel()
	existing, err := readExisting(s.out)
	if err != nil {
		return nil, err
	}
	if s.options.Curation, err = openapi.Curate(existing, s.force); err != nil {
		return nil, fmt.Errorf("%s: %w", s.out, err)
	}
	if s.document == "" && !s.tools.isSet() {
		if s.document, err = s.skeleton(); err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "%s describes your API in a few lines: add your operations, and run init again with --openapi %[1]s\n", s.document)
	}
	data, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	if s.options.Source == nil && !s.tools.isSet() {
		top, err := s.openRefs()
		if err != nil {
			return nil, err
		}
		defer top.Close() //nolint:errcheck // only read
	}
	s.setPolicies(ctx, existing)
	found, err := openapi.Convert(ctx, data, s.options)
	if errors.Is(err, openapi.ErrOptions) {
		return nil, cli.Usage(err)
	}
	if err != nil {
		source := shownSource(s.document)
		if s.tools.isSet() {
			source = s.tools.shown()
		}
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if s.review {
		return &plan{found: found, existing: existing}, nil
	}
	if s.merge {
		found.Adopt(existing, termsOf(ctx, s.out, existing)[0].of)
	}
	result, err := found.Update(existing, s.force)
	if errors.Is(err, openapi.ErrNotOurs) {
		return nil, fmt.Errorf("%s: %w: choose another --out, or use --force to overwrite them", s.out, err)
	}
	if err != nil {
		return nil, err
	}
	return newPlan(s.out, data, existing, found, result)
}
