package relaycmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// An operator holds the flags of the commands that open the state of a relay. The relay may be running.
type operator struct {
	config, data, output string
	limit                int
}

// Operator returns the commands for operators of a relay: uimgate mrp agents, messages, blobs, usage, block and unblock.
func Operator() []*cobra.Command {
	o := &operator{}
	list := []*cobra.Command{o.agents(), o.messages(), o.blobs(), o.usage(), o.block(true), o.block(false)}
	for _, c := range list {
		c.Flags().StringVar(&o.data, "data", "./relay", "data directory of the relay; ignored if $"+storeVariable+" names a database")
		c.Flags().StringVarP(&o.config, "config", "c", "", "configuration of the gateway that runs the relay; replaces --data")
		c.Flags().StringVarP(&o.output, "output", "o", "text", "text or json")
	}
	return list
}

// maxList is the maximum of --limit.
const maxList = 10_000

// open opens the database of the relay. It returns an error if the database does not exist. The returned function closes the database.
func (o *operator) open(ctx context.Context) (*sqlmail.Store, func() error, error) {
	if o.limit < 0 || o.limit > maxList {
		return nil, nil, cli.Usage(fmt.Errorf("--limit must be from 1 to %d", maxList))
	}
	if o.output != "text" && o.output != "json" {
		return nil, nil, cli.Usage(fmt.Errorf("-o must be text or json, not %q", o.output))
	}
	place := os.Getenv(storeVariable)
	if o.config != "" {
		c, problems := config.Load(o.config, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv})
		if c == nil {
			return nil, nil, problems.Err()
		}
		o.data, place = c.Data, ""
		if c.Store.Engine == config.Postgres {
			place = c.Store.URL.Reveal()
		}
	}
	if place == "" {
		place = config.StatePath(o.data)
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%s has no relay database: name its directory with --data, or the gateway's configuration with -c", place)
		}
	}
	db, err := sqlstore.Open(ctx, place, sqlstore.Options{Now: time.Now})
	if err != nil {
		return nil, nil, err
	}
	return sqlmail.New(db, sqlmail.Options{}), db.Close, nil
}

// with opens the state, calls do with that state, and closes the state.
func (o *operator) with(c *cobra.Command, do func(context.Context, *sqlmail.Store) error) (err error) {
	state, closing, err := o.open(c.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	return do(c.Context(), state)
}

// show writes a list as lines of JSON, or as a table with head as its header.
func show[T any](o *operator, w io.Writer, head string, list []T, row func(T) string) error {
	if o.output == "json" {
		e := json.NewEncoder(w)
		for _, v := range list {
			if err := e.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	for _, v := range list {
		fmt.Fprintln(t, row(v))
	}
	return t.Flush()
}

// An agent is an agent as the operator sees it.
type agent struct {
	Key          wire.Key  `json:"public_key"`
	Name         string    `json:"display_name,omitempty"`
	Status       string    `json:"status"`
	Visibility   string    `json:"visibility"`
	Policy       string    `json:"inbox_policy"`
	CreatedAt    time.Time `json:"created_at"`
	LastActiveAt time.Time `json:"last_active_at"`
}

func (o *operator) agents() *cobra.Command {
	var after string
	c := &cobra.Command{
		Use: "agents", Short: "List the agents of a relay, sorted by key (for its operator)", Args: o.none,
		Long:    `Agents lists the agents that are registered with the relay. The relay may be running.`,
		Example: "  uimgate mrp agents --data ./relay\n  uimgate mrp agents -c uimgate.yaml -o json --limit 1000",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.with(c, func(ctx context.Context, s *sqlmail.Store) error {
				from, err := o.key(after)
				if err != nil {
					return err
				}
				list, more, err := s.Agents(ctx, from, o.limit)
				if err != nil {
					return err
				}
				var shown []agent
				for _, a := range list {
					shown = append(shown, agent{a.Key, a.Name, a.Status, a.Visibility, a.Policy, a.CreatedAt.UTC(), a.LastActiveAt.UTC()})
				}
				err = show(o, c.OutOrStdout(), "KEY\tNAME\tSTATUS\tVISIBILITY\tINBOX\tLAST ACTIVE", shown, func(a agent) string {
					return fmt.Sprintf("%s\t%q\t%s\t%s\t%s\t%s", a.Key, a.Name, a.Status, a.Visibility, a.Policy, a.LastActiveAt.Format(time.RFC3339))
				})
				if more {
					fmt.Fprintf(c.ErrOrStderr(), "There are more: use --after %s\n", shown[len(shown)-1].Key)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&after, "after", "", "list only agents after this key")
	c.Flags().IntVar(&o.limit, "limit", 100, "maximum number of entries")
	return c
}

// A message is a message as the operator sees it: without its content.
type message struct {
	ID        string    `json:"message_id"`
	Sender    wire.Key  `json:"sender_key"`
	Recipient wire.Key  `json:"recipient_key"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (o *operator) messages() *cobra.Command {
	c := &cobra.Command{
		Use: "messages [KEY]", Short: "List messages of a relay, without their content (for its operator)", Args: o.atMostOne,
		Long:    `Messages lists the messages that a relay stores, or only those of one agent, oldest first, without their content.`,
		Example: "  uimgate mrp messages --data ./relay\n  uimgate mrp messages -c uimgate.yaml A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg",
		RunE: func(c *cobra.Command, args []string) error {
			return o.with(c, func(ctx context.Context, s *sqlmail.Store) error {
				of, err := o.ofAgent(args)
				if err != nil {
					return err
				}
				list, more, err := s.List(ctx, of, nil, o.limit)
				if err != nil {
					return err
				}
				var shown []message
				for _, m := range list {
					shown = append(shown, message{m.ID, m.Sender, m.Recipient, m.Status, m.CreatedAt.UTC(), m.ExpiresAt.UTC()})
				}
				err = show(o, c.OutOrStdout(), "MESSAGE\tFROM\tTO\tSTATUS\tSENT\tEXPIRES", shown, func(m message) string {
					return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", m.ID, m.Sender, m.Recipient, m.Status, m.CreatedAt.Format(time.RFC3339),
						m.ExpiresAt.Format(time.RFC3339))
				})
				if more {
					fmt.Fprintln(c.ErrOrStderr(), "There are more: increase --limit, or name an agent.")
				}
				return err
			})
		},
	}
	c.Flags().IntVar(&o.limit, "limit", 100, "maximum number of entries")
	return c
}

// A blob is a stored file as the operator sees it: without its content.
type blob struct {
	ID        string    `json:"blob_id"`
	Owner     wire.Key  `json:"owner_key"`
	Size      int64     `json:"size"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (o *operator) blobs() *cobra.Command {
	var after string
	c := &cobra.Command{
		Use: "blobs [KEY]", Short: "List the files of a relay, without their content (for its operator)", Args: o.atMostOne,
		Long:    `Blobs lists the files that a relay stores, or only those of one agent, sorted by id, without their content.`,
		Example: "  uimgate mrp blobs --data ./relay",
		RunE: func(c *cobra.Command, args []string) error {
			return o.with(c, func(ctx context.Context, s *sqlmail.Store) error {
				of, err := o.ofAgent(args)
				if err != nil {
					return err
				}
				list, more, err := s.Blobs(ctx, of, after, o.limit)
				if err != nil {
					return err
				}
				var shown []blob
				for _, b := range list {
					shown = append(shown, blob{b.ID, b.Owner, b.Size, b.CreatedAt.UTC(), b.ExpiresAt.UTC()})
				}
				err = show(o, c.OutOrStdout(), "FILE\tOWNER\tSIZE\tSENT\tEXPIRES", shown, func(b blob) string {
					return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", b.ID, b.Owner, humanize.IBytes(uint64(b.Size)), b.CreatedAt.Format(time.RFC3339),
						b.ExpiresAt.Format(time.RFC3339))
				})
				if more {
					fmt.Fprintf(c.ErrOrStderr(), "There are more: use --after %s\n", shown[len(shown)-1].ID)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&after, "after", "", "list only files after this id")
	c.Flags().IntVar(&o.limit, "limit", 100, "maximum number of entries")
	return c
}

// usage holds the amount of data that a relay stores.
type usage struct {
	Agents       int64 `json:"agents"`
	Messages     int64 `json:"messages"`
	Waiting      int64 `json:"messages_waiting"`
	MessageBytes int64 `json:"message_bytes"`
	Blobs        int64 `json:"blobs"`
	BlobBytes    int64 `json:"blob_bytes"`
	Webhooks     int64 `json:"webhooks"`
}

func (o *operator) usage() *cobra.Command {
	return &cobra.Command{
		Use: "usage", Short: "Show how much a relay stores: agents, messages, files (for its operator)", Args: o.none,
		Long:    `Usage counts the agents, messages, files and webhooks of a relay, and their bytes. The relay may be running.`,
		Example: "  uimgate mrp usage --data ./relay -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.with(c, func(ctx context.Context, s *sqlmail.Store) error {
				t, err := s.Totals(ctx)
				if err != nil {
					return err
				}
				all := []usage{{t.Agents, t.Messages, t.Waiting, t.Bytes, t.Blobs, t.BlobBytes, t.Webhooks}}
				return show(o, c.OutOrStdout(), "AGENTS\tMESSAGES\tWAITING\tBYTES\tFILES\tBYTES\tWEBHOOKS", all, func(u usage) string {
					return fmt.Sprintf("%d\t%d\t%d\t%s\t%d\t%s\t%d", u.Agents, u.Messages, u.Waiting, humanize.IBytes(uint64(max(0, u.MessageBytes))),
						u.Blobs, humanize.IBytes(uint64(max(0, u.BlobBytes))), u.Webhooks)
				})
			})
		},
	}
}

func (o *operator) block(block bool) *cobra.Command {
	use, short, did := "unblock KEY", "Make a relay serve a blocked agent again (for its operator)", "is served again"
	if block {
		use, short, did = "block KEY", "Make a relay refuse an agent (for its operator)", "is refused from now on"
	}
	word := map[bool]string{true: "block", false: "unblock"}[block]
	return &cobra.Command{
		Use: use, Short: short, Args: o.one,
		Long:    `A relay refuses each request of a blocked agent with agent_suspended, hides the agent from others, and keeps messages to it.`,
		Example: "  uimgate mrp " + word + " --data ./relay A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg",
		RunE: func(c *cobra.Command, args []string) error {
			return o.with(c, func(ctx context.Context, s *sqlmail.Store) error {
				k, err := o.key(args[0])
				if err != nil {
					return err
				}
				if err := s.Suspend(ctx, *k, block); err != nil {
					if errors.Is(err, mail.ErrNotFound) {
						return fmt.Errorf("the relay has no agent with the key %s", args[0])
					}
					return err
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s %s\n", args[0], did)
				return err
			})
		},
	}
}

// key parses a key. It returns nil if text is empty.
func (o *operator) key(text string) (*mail.Key, error) {
	if text == "" {
		return nil, nil
	}
	k, err := wire.ParseKey(text)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return (*mail.Key)(&k), nil
}

// ofAgent parses the optional argument KEY. It returns nil if there is none.
func (o *operator) ofAgent(args []string) (*mail.Key, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return o.key(args[0])
}

func (o *operator) none(_ *cobra.Command, args []string) error { return o.count(args, 0, 0) }

func (o *operator) one(_ *cobra.Command, args []string) error { return o.count(args, 1, 1) }

func (o *operator) atMostOne(_ *cobra.Command, args []string) error { return o.count(args, 0, 1) }

func (o *operator) count(args []string, least, maxArgs int) error {
	if len(args) < least {
		return cli.Usage(errors.New("the key of an agent is missing"))
	}
	if len(args) > maxArgs {
		return cli.Usage(fmt.Errorf("unexpected argument %q", args[maxArgs]))
	}
	return nil
}
