package mrpcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// sendFlags holds the flags of send.
type sendFlags struct {
	text, action, contentType, thread, replyTo string
	attach                                     []string
	encrypt                                    bool
	expires, wait                              time.Duration
}

func (s *settings) send() *cobra.Command {
	var o sendFlags
	c := &cobra.Command{
		Use: "send KEY [JSON | -]", Short: "Send a message, and optionally wait for the reply", Args: cli.Args(cobra.RangeArgs(1, 2)),
		Long: `Send sends a message. The body is JSON, from the command line or from stdin (-), or the text of --text. With --action,
the message is a request, and the JSON contains its parameters. With --wait, send waits for the reply, prints it, and
reports progress on stderr.`,
		Example: `  uimgate mrp send Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc --text hello
  uimgate mrp send Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc '{"text":"tea","to":"de"}' --action text:translate --wait 1m --encrypt`,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := s.parseKey(args[0])
			if err != nil {
				return err
			}
			m, err := s.compose(c, o, args[1:])
			if err != nil {
				return err
			}
			m.Recipient = to
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			if m.Attachments, err = upload(c, client, to, o); err != nil {
				return err
			}
			if o.wait > 0 {
				return s.ask(c, client, m, o)
			}
			if o.encrypt {
				if m, err = client.Seal(m); err != nil {
					return err
				}
			}
			r, err := client.Send(c.Context(), m)
			if err != nil {
				return err
			}
			return s.print(c, r, func(w io.Writer) { fmt.Fprintln(w, cli.Sanitize(r.MessageID)) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.text, "text", "", "text to send as the body")
	f.StringVar(&o.action, "action", "", "send a request for this action")
	f.StringVar(&o.contentType, "type", "", "content type (default application/json, or the type for --text or --action)")
	f.StringVar(&o.thread, "thread", "", "id of the thread")
	f.StringVar(&o.replyTo, "reply-to", "", "id of the message that this one replies to")
	f.StringArrayVar(&o.attach, "attach", nil, "file to attach; may be repeated")
	f.BoolVar(&o.encrypt, "encrypt", false, "encrypt the body and the files, so that the relay cannot read them")
	f.DurationVar(&o.expires, "expires", 0, "how long the relay keeps the message for the recipient, up to 720h (default 168h)")
	f.DurationVar(&o.wait, "wait", 0, "how long to wait for the reply (default: do not wait)")
	return c
}

// compose builds the message from the flags and arguments, without recipient and attachments.
func (s *settings) compose(c *cobra.Command, o sendFlags, args []string) (wire.Send, error) {
	m := wire.Send{ContentType: o.contentType, ThreadID: o.thread, InReplyTo: o.replyTo, ExpiresIn: int64(o.expires / time.Second)}
	var body []byte
	if len(args) > 0 {
		body = []byte(args[0])
	}
	if string(body) == "-" {
		var err error
		if body, err = io.ReadAll(io.LimitReader(c.InOrStdin(), wire.MaxBody+1)); err != nil {
			return wire.Send{}, err
		}
	}
	orElse := func(contentType string) {
		if m.ContentType == "" {
			m.ContentType = contentType
		}
	}
	switch text := c.Flags().Changed("text"); {
	case text && (o.action != "" || len(args) > 0), o.expires < 0, o.wait < 0:
		return wire.Send{}, cli.Usage(errors.New("--text cannot be combined with JSON or --action, and durations must not be negative"))
	case text:
		orElse(wire.TypeText)
		var err error
		m.Body, err = strictjson.Append(nil, o.text)
		return m, err
	case len(args) == 0 && o.action == "" && len(o.attach) == 0:
		return wire.Send{}, cli.Usage(errors.New("the message is empty: give a body as JSON, --text, --action or --attach"))
	case len(args) > 0:
		if _, err := strictjson.Decode(body); err != nil {
			return wire.Send{}, cli.Usage(fmt.Errorf("the body is not valid JSON: %w", err))
		}
		m.Body = body
	}
	if o.action == "" {
		return m, nil
	}
	orElse(wire.TypeRequest)
	params := map[string]any{}
	if len(args) > 0 {
		tree, err := strictjson.DecodeObject(body)
		if err != nil {
			return wire.Send{}, cli.Usage(errors.New("the parameters of an action must be a JSON object"))
		}
		params = tree
	}
	var err error
	m.Body, err = json.Marshal(wire.Request{Action: o.action, Params: params})
	return m, err
}

// upload stores the files of --attach at the relay, and returns their attachments.
func upload(c *cobra.Command, client *mrp.Client, to wire.Key, o sendFlags) (list []wire.Attachment, err error) {
	for _, path := range o.attach {
		a := wire.Attachment{Filename: filepath.Base(path)}
		if o.encrypt {
			if a, err = attachEncrypted(c, client, to, path); err != nil {
				return nil, err
			}
		} else {
			b, err := put(c, client, path, "")
			if err != nil {
				return nil, err
			}
			a.BlobID = b.ID
		}
		list = append(list, a)
	}
	return list, nil
}

// ask sends a message, waits for its reply for at most o.wait, and prints the reply.
func (s *settings) ask(c *cobra.Command, client *mrp.Client, m wire.Send, o sendFlags) error {
	ctx, cancel := context.WithTimeout(c.Context(), o.wait)
	defer cancel()
	answer, err := client.Call(ctx, m, mrp.AskOptions{Encrypt: o.encrypt, Progress: func(p wire.Progress) {
		s.note(c, "%s %.0f%% %s", cli.Sanitize(p.State), 100*p.Progress, cli.Sanitize(p.Detail))
	}})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && c.Context().Err() == nil:
		return fmt.Errorf("no reply arrived within %s: to see a later reply, run uimgate mrp poll", o.wait)
	case err != nil:
		return err
	}
	return s.printMessage(c, message{Message: answer, Encrypted: o.encrypt})
}

// A message is a message as the commands print it.
type message struct {
	wire.Message
	Encrypted bool   `json:"encrypted,omitempty"` // the relay could not read the message
	Problem   string `json:"problem,omitempty"`   // why the message could not be decrypted
}

// opened decrypts a message if it is encrypted. If that fails, the result has a Problem.
func opened(client *mrp.Client, m wire.Message) message {
	if m.ContentType != wire.TypeEncrypted {
		return message{Message: m}
	}
	inner, err := client.Open(m)
	if err != nil {
		return message{Message: m, Encrypted: true, Problem: err.Error()}
	}
	return message{Message: inner, Encrypted: true}
}

func (s *settings) printMessage(c *cobra.Command, m message) error {
	return s.print(c, m, func(w io.Writer) {
		fmt.Fprintf(w, "%s  %s  from %s  %s\n", cli.Sanitize(m.ID), cli.HumanTime(m.CreatedAt), m.Sender, cli.Sanitize(m.ContentType))
		for name, value := range map[string]string{"in reply to": m.InReplyTo, "not decrypted": m.Problem} {
			if value != "" {
				fmt.Fprintf(w, "  %s: %s\n", name, cli.Sanitize(value))
			}
		}
		for _, a := range m.Attachments {
			fmt.Fprintf(w, "  attached: %s %s (%d bytes)\n", cli.Sanitize(a.BlobID), cli.Sanitize(a.Filename), a.Size)
		}
		if len(m.Body) > 0 {
			fmt.Fprintf(w, "  %s\n", cli.Sanitize(string(m.Body)))
		}
	})
}

func (s *settings) poll() *cobra.Command {
	var f mrp.Filter
	var sender, status string
	c := &cobra.Command{
		Use: "poll", Short: "Print the messages that have arrived", Args: cli.Args(cobra.NoArgs),
		Long: `Poll prints the unread messages to this agent, oldest first. The relay then marks them as delivered. To print
delivered messages again, as long as the relay keeps them, use --status delivered.`,
		Example: "  uimgate mrp poll --relay https://relay.mrphub.io\n  uimgate mrp poll --status delivered -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > wire.MaxPage || f.Wait < 0 {
				return cli.Usage(fmt.Errorf("--limit must be from 1 to %d, and --wait must not be negative", wire.MaxPage))
			}
			if sender != "" {
				k, err := s.parseKey(sender)
				if err != nil {
					return err
				}
				f.Sender = &k
			}
			f.Status = wire.MessageStatus(status)
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			page, err := client.Poll(c.Context(), f)
			if err != nil {
				return err
			}
			for _, m := range page.Messages {
				if err := s.printMessage(c, opened(client, m)); err != nil {
					return err
				}
			}
			if page.Dropped > 0 {
				s.note(c, "%d entries were skipped: they are not valid messages to this agent", page.Dropped)
			}
			if page.Next != "" {
				s.note(c, "there are more messages: poll again")
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.IntVar(&f.Limit, "limit", 20, "maximum number of messages")
	fl.DurationVar(&f.Wait, "wait", 0, "how long to wait for a first message, up to 30s, if the relay supports it")
	fl.StringVar(&status, "status", "", "status of the messages: sent (the default), delivered or expired")
	fl.StringVar(&sender, "from", "", "only messages from this agent")
	fl.StringVar(&f.ThreadID, "thread", "", "only messages of this thread")
	return c
}

func (s *settings) listen() *cobra.Command {
	var count int
	var o mrp.ListenOptions
	c := &cobra.Command{
		Use: "listen", Short: "Print messages as they arrive, until interrupted", Args: cli.Args(cobra.NoArgs),
		Long: `Listen prints each message to this agent once, and then acknowledges it. It uses a WebSocket, or polls if the relay
has none, and reconnects whenever the connection is lost.`,
		Example: "  uimgate mrp listen -o json --relay https://relay.mrphub.io\n  uimgate mrp listen --count 1",
		RunE: func(c *cobra.Command, _ []string) error {
			if count < 0 {
				return cli.Usage(errors.New("--count must not be negative"))
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			ctx, cancel := context.WithCancelCause(c.Context())
			defer cancel(nil)
			o.State = func(err error) {
				if err != nil {
					s.note(c, "%s", cli.Sanitize(err.Error()))
				} else {
					s.note(c, "listening as %s", client.Key())
				}
			}
			o.Failed = func(_ wire.Message, err error) { cancel(err) } // writing to stdout failed
			printed := 0                                               // not shared: handlers run one at a time
			o.Done = func(wire.Message) {
				if printed == count {
					cancel(nil)
				}
			}
			err = client.Listen(ctx, o, func(_ context.Context, m wire.Message) error {
				if count > 0 && printed == count {
					return context.Canceled // the relay will deliver the message again
				}
				if err := s.printMessage(c, opened(client, m)); err != nil {
					return err
				}
				printed++
				return nil
			})
			if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
				return cause
			}
			return err
		},
	}
	c.Flags().IntVar(&count, "count", 0, "exit after this many messages; 0 means never")
	c.Flags().BoolVar(&o.PollOnly, "poll", false, "poll instead of using a WebSocket")
	return c
}
