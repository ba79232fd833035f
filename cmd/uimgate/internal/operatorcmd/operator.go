// Package operatorcmd implements the commands for operators: some use the admin API of a running gateway, others its state and its keys.
package operatorcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

// Environment variables that all operator commands read.
const (
	EnvAdminURL   = "UIMGATE_ADMIN_URL"
	EnvAdminToken = "UIMGATE_ADMIN_TOKEN" //nolint:gosec // the name of a variable, not a token
)

// An operator holds the flags of the operator commands: the address of the gateway, its token, and the format of the output.
type operator struct {
	url, tokenFile, config string
	data                   string
	service, format        string
	after                  string
	limit                  int
	all                    bool

	// configured loads the configuration on its first call; later calls return the same result.
	configured func() (*config.Config, config.Problems)
}

// group makes c a command that contains only subcommands, which share its flags, and returns c.
func (o *operator) group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = cli.Args(cli.KnownCommand)
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	o.flags(c)
	return c
}

// flags adds the flags of every operator command.
func (o *operator) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVar(&o.url, "admin", "",
		"URL of the admin listener (default: env "+EnvAdminURL+", then the configuration, then "+client.DefaultURL+")")
	f.StringVar(&o.tokenFile, "admin-token-file", "",
		"file with the admin token (default: env "+EnvAdminToken+", then the data directory of the configuration)")
	f.StringVarP(&o.config, "config", "c", "uimgate.yaml", "configuration file, for finding the admin listener and its token")
	f.StringVar(&o.data, "data", "", "data directory of the gateway, for connecting to its socket (default: from the configuration)")
	f.StringVar(&o.service, "service", "", "id of the service, if the gateway has several")
	f.StringVarP(&o.format, "output", "o", "table", "table, json or csv")
}

// paging adds the flags of listings to c, and returns c.
func (o *operator) paging(c *cobra.Command) *cobra.Command {
	c.Flags().IntVar(&o.limit, "limit", 100, "maximum number of entries, up to 1000")
	c.Flags().StringVar(&o.after, "after", "", "continue after the previous page, with the value that it printed")
	c.Flags().BoolVar(&o.all, "all", false, "print all pages")
	c.MarkFlagsMutuallyExclusive("all", "limit")
	return c
}

// page returns the request for the first page that the flags select.
func (o *operator) page() api.PageRequest {
	p := api.PageRequest{Limit: o.limit, After: o.after}
	if o.all {
		p.Limit = 1000
	}
	return p
}

// record returns the reference to a record of the selected service.
func (o *operator) record(id string) api.Record { return api.Record{Service: o.service, ID: id} }

func (o *operator) revocation(id, why string) api.Revocation {
	return api.Revocation{Record: o.record(id), Reason: why}
}

// client returns the client of the gateway. If this user may use the gateway's socket, the client connects to that socket, so that it works
// with any certificate and even with a broken configuration. Otherwise, it connects to the admin listener.
func (o *operator) client(ctx context.Context) (*client.Client, error) {
	if err := cli.CheckFormat(o.format); err != nil {
		return nil, err
	}
	o.configured = sync.OnceValues(func() (*config.Config, config.Problems) {
		return config.Load(o.config, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv})
	})
	if socket := o.socket(ctx); socket != "" {
		return client.New(client.Options{Socket: socket}), nil
	}
	base, err := client.ParseURL(o.adminURL())
	if err != nil {
		return nil, cli.Usage(err)
	}
	token, err := o.token()
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{URL: base, Token: token}), nil
}

// socket returns the path of the socket in the data directory of --data or of the configuration. It returns "" if this user cannot use
// the socket, or if a flag or the environment selects the admin listener.
func (o *operator) socket(ctx context.Context) string {
	if o.url != "" || o.tokenFile != "" || os.Getenv(EnvAdminURL) != "" {
		return ""
	}
	dir := o.data
	if dir == "" {
		if cfg, _ := o.configured(); cfg != nil {
			dir = cfg.Data
		} else {
			dir = config.DataOf(o.config)
		}
	}
	return client.OwnSocket(ctx, dir)
}

// adminURL returns the URL of the admin listener from --admin, the environment or the configuration, in this order.
func (o *operator) adminURL() string {
	if o.url != "" {
		return o.url
	}
	if text := os.Getenv(EnvAdminURL); text != "" {
		return text
	}
	cfg, _ := o.configured()
	return client.ConfiguredURL(cfg)
}

// token returns the admin token: from --admin-token-file, from the environment, or that of the gateway that the configuration describes, in
// this order.
func (o *operator) token() (string, error) {
	if o.tokenFile != "" {
		return client.ReadToken(o.tokenFile)
	}
	if token := os.Getenv(EnvAdminToken); token != "" {
		return client.ParseToken(token, EnvAdminToken)
	}
	cfg, problems := o.configured()
	if cfg == nil {
		return "", fmt.Errorf("the command needs an admin token: give --admin-token-file or %s, or the gateway's configuration with -c:\n%w",
			EnvAdminToken, problems.Err())
	}
	return client.ConfiguredToken(cfg, o.config)
}

// call sends a request to the selected gateway.
func call[Q, A any](c *cobra.Command, o *operator, op operation.Operation[Q, A], q Q) (A, error) {
	return use(c, o, func(ctx context.Context, api *client.Client) (A, error) { return client.Do(ctx, api, op, q) })
}

// use calls do with a client of the selected gateway. It sanitizes the text of a refusal, so that the text cannot control the terminal.
func use[A any](c *cobra.Command, o *operator, do func(context.Context, *client.Client) (A, error)) (answer A, err error) {
	api, err := o.client(c.Context())
	if err != nil {
		return answer, err
	}
	answer, err = do(c.Context(), api)
	if refused, ok := errors.AsType[*client.RefusedError](err); ok {
		shown := *refused
		shown.Message, shown.Suggestion = cli.Sanitize(refused.Message), cli.Sanitize(refused.Suggestion)
		if len(refused.Services) > 0 {
			shown.Suggestion = cli.Sanitize("Name one with --service: " + strings.Join(refused.Services, ", "))
		}
		err = &shown
	}
	if errors.Is(err, client.ErrURL) {
		err = cli.Usage(err)
	}
	return answer, err
}

// printAnswer sends a request to the gateway, and prints the record that it returns.
func printAnswer[Q, A any](c *cobra.Command, o *operator, columns []cli.Column[A], op operation.Operation[Q, A], q Q) error {
	answer, err := call(c, o, op, q)
	if err != nil {
		return err
	}
	return cli.PrintOne(c, o.format, answer, columns)
}

// callOnce is like call, for an operation that the gateway makes only once under a name, which is the value of a flag. If it is unknown
// whether the gateway has made the operation, the error explains how to repeat the command, unless the name is empty. what describes the
// operation.
func callOnce[Q, A any](c *cobra.Command, o *operator, op operation.Operation[Q, A], q Q, what, flag, name string) (A, error) {
	answer, err := call(c, o, op, q)
	if _, refused := errors.AsType[*client.RefusedError](err); err != nil && !refused && name != "" {
		err = fmt.Errorf("%w\nYou can repeat the command with %s %s: the %s is made only once", err, flag, cli.ShellQuote(name), what)
	}
	return answer, err
}

// A lister requests one page of a listing.
type lister[T any] func(context.Context, *client.Client, api.PageRequest) (api.Page[T], error)

// printListing requests a listing and prints it on stdout. With --all, it requests all pages. Otherwise, if there may be a next page, it
// prints on stderr how to get that page.
func printListing[T any](c *cobra.Command, o *operator, columns []cli.Column[T], list lister[T]) error {
	return printRows(c, o, columns, list, func(r T) []T { return []T{r} }, nil)
}

// printQuery is like printListing, for the pages of an operation.
func printQuery[Q, T any](c *cobra.Command, o *operator, columns []cli.Column[T], op operation.Operation[Q, api.Page[T]], query Q) error {
	return printListing(c, o, columns, pages(o, op, query))
}

// pages returns a lister that sends query, for the selected service.
func pages[Q, T any](o *operator, op operation.Operation[Q, api.Page[T]], query Q) lister[T] {
	return func(ctx context.Context, c *client.Client, p api.PageRequest) (api.Page[T], error) {
		api.Query(&query, selection{o.service, p})
		return client.Do(ctx, c, op, query)
	}
}

// A selection sets the service and the page of a request, and leaves its other parameters as they are.
type selection struct {
	service string
	page    api.PageRequest
}

func (s selection) Service(value *string)          { *value = s.service }
func (s selection) Page(value *api.PageRequest)    { *value = s.page }
func (selection) Record(*string)                   {}
func (selection) Text(string, *string)             {}
func (selection) OneOf(string, *string, ...string) {}
func (selection) Number(string, *int64)            {}
func (selection) Moment(string, *time.Time)        {}

// listCommand completes a command that prints the records that q selects when the command runs.
func listCommand[Q, T any](
	o *operator, c *cobra.Command, columns []cli.Column[T], op operation.Operation[Q, api.Page[T]], q *Q,
) *cobra.Command {
	c.Args = cli.Args(cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error { return printQuery(c, o, columns, op, *q) }
	return o.paging(c)
}

// showCommand completes a command that prints the record whose id is the argument.
func showCommand[A any](o *operator, c *cobra.Command, columns []cli.Column[A], op operation.Operation[api.Record, A]) *cobra.Command {
	c.Args = cli.Args(cobra.ExactArgs(1))
	c.RunE = func(c *cobra.Command, args []string) error { return printAnswer(c, o, columns, op, o.record(args[0])) }
	return c
}

// printRows is like printListing, for records that have several rows in a table or in CSV. It prints CSV page by page, but a table or JSON
// only after the last page. If sum is not nil, a table ends with the rows that sum returns, and JSON with its totals.
func printRows[T, R any](
	c *cobra.Command, o *operator, columns []cli.Column[R], list lister[T], rows func(T) []R, sum func([]T) (rows []R, totals any),
) error {
	gathered := api.Page[T]{Items: []T{}}
	var table []R
	paging := o.page()
	for first := true; ; first = false {
		page, err := use(c, o, func(ctx context.Context, api *client.Client) (api.Page[T], error) { return list(ctx, api, paging) })
		if err != nil {
			return err
		}
		var more []R
		for _, record := range page.Items {
			more = append(more, rows(record)...)
		}
		if o.format == "csv" {
			if err := cli.PrintCSV(c.OutOrStdout(), more, columns, first); err != nil {
				return err
			}
		} else {
			table = append(table, more...)
			gathered.Items = append(gathered.Items, page.Items...)
		}
		if first && len(page.Items) == 0 && page.Next == "" {
			fmt.Fprintln(c.ErrOrStderr(), "None.")
		}
		if gathered.Next = page.Next; page.Next == "" || !o.all {
			break
		}
		paging.After = page.Next
	}
	if gathered.Next != "" {
		fmt.Fprintf(c.ErrOrStderr(), "There may be more: use --after %s, or --all\n", cli.Sanitize(cli.ShellQuote(gathered.Next)))
	}
	out := struct {
		api.Page[T]

		Totals any `json:"totals,omitempty"`
	}{Page: gathered}
	if sum != nil && len(gathered.Items) > 0 {
		var last []R
		last, out.Totals = sum(gathered.Items)
		table = append(table, last...)
	}
	switch o.format {
	case "csv":
		return nil
	case "table":
		return cli.PrintTable(c.OutOrStdout(), table, columns)
	default:
		return cli.PrintLine(c.OutOrStdout(), out)
	}
}
