package agentcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

const maxParameters = 8 << 20

func agentExecuteCommand(s *agentSettings) *cobra.Command {
	var (
		params, target   string
		payWith, payMost string
		o                agent.ExecuteOptions
	)
	c := &cobra.Command{
		Use: "execute UID [NAME=VALUE...]", Short: "Execute an intent under the agreement that permits it",
		Long: `Execute executes an intent under the agreement that permits it. Parameters are written name=value and
converted to the type that the intent declares, or given as one JSON object with --params: the object
itself, @FILE, or - for stdin. Execute renews the token when it is due.

--via selects the protocol of the call. With mcp, execute calls the intent as a tool at the service's MCP
endpoint; with a2a, it sends a message to the service's A2A endpoint. The agreement, the token, the output
and the exit codes are the same.

With --via uagents, the agent sends everything that it signs in envelopes of the uAgents protocol, under a
separate identity. With --via mrp://relay/key, it sends everything that it signs through a relay of the
Machine Relay Protocol, with its Ed25519 key as its id. Use the flag with keygen (only uagents), agree, and
every command that uses the agreement.

With --pay-with, execute pays by x402 if the service asks for a payment of at most --pay-at-most. The
command that --pay-with names holds the wallet. That command must check the terms, because --pay-at-most
limits only the price that the service states, not the amount of the payment token in the terms.

An agreement that was made before the service offered a protocol lacks the endpoint of that protocol: agree again.`,
		Example: `  uimgate agent execute shop.example:search:v1 query=tea limit=5
  uimgate agent execute shop.example:order:v1 --params '{"items":[{"sku":"T-1","count":2}]}' --idempotency-key order-17
  uimgate agent execute shop.example:search:v1 query=tea --via mcp
  uimgate agent execute shop.example:search:v1 query=tea --via uagents
  echo '{"query":"tea"}' | uimgate agent execute shop.example:search:v1 --params - -o json`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: s.run(func(c *cobra.Command, args []string) error {
			if err := s.pays(payWith, payMost, c.ErrOrStderr()); err != nil {
				return cli.Usage(err)
			}
			o.Via = s.way()
			tree, err := readParams(params, c.InOrStdin())
			if err != nil {
				return err
			}
			return s.onService(c, target, args[0], func(service *agent.Service) error {
				if len(args) > 1 {
					in, err := service.Intent(c.Context(), args[0])
					if err != nil {
						return err
					}
					if err := assign(tree, in, args[1:]); err != nil {
						return err
					}
				}
				o.Before = func(key string) { s.printKey(c, key, o.IdempotencyKey) }
				before := service.Session()
				result, err := service.Execute(c.Context(), args[0], tree, o)
				if err := s.saveChanged(service, before, err); err != nil {
					return err
				}
				return s.printResult(c, service.Session(), result)
			})
		}),
	}
	f := c.Flags()
	f.StringVar(&params, "params", "", "parameters as a JSON object, @FILE, or - for stdin")
	f.StringVar(&target, "service", "", "service to call, if several agreements permit the intent")
	f.StringVar(&o.IdempotencyKey, "idempotency-key", "", "key of the call: repeating the call with this key returns its result, and does not execute it again")
	f.BoolVar(&o.NoRepeat, "no-repeat", false, "send the call only once, even if it fails")
	f.BoolVar(&o.Prove, "prove", false, "add a proof of key, even if the service does not require it")
	f.StringVar(&payWith, "pay-with", "",
		"command that signs an x402 payment, if the service asks for one: it reads the terms (JSON) from stdin, and writes the payment (JSON) to stdout")
	f.StringVar(&payMost, "pay-at-most", "", `largest payment with --pay-with, such as "1 USD"`)
	f.StringVar(&o.RequestID, "request-id", "", "id with which logs and replies identify the call")
	return c
}

// printKey prints the idempotency key of a call before the call is sent, and how to repeat the call. It prints nothing if there is no key,
// or if the user has given it.
func (s *agentSettings) printKey(c *cobra.Command, key, given string) {
	if key != "" && given == "" {
		fmt.Fprintf(c.ErrOrStderr(), "idempotency key: %s; if no response arrives, repeat the command with --idempotency-key %[1]s\n", key)
	}
}

// agreedNext reports whether the agent has already agreed to a policy that takes effect when the present terms end.
func agreedNext(session agent.Session, end time.Time) bool {
	next, ok := session.Next()
	return ok && !next.NotBefore.After(end)
}

func (s *agentSettings) printResult(c *cobra.Command, session agent.Session, r agent.Result) error {
	if r.Replayed {
		s.printNote(c, "this is the result of an earlier call with the same idempotency key; nothing was executed now")
	}
	if r.Charge != nil {
		s.printNote(c, "charge: %s", r.Charge)
	}
	if r.Paid {
		s.printNote(c, "the payment was settled; the part that the call did not use is now credit at the service")
	}
	data := map[string]any{"output": json.RawMessage(r.Raw), "replayed": r.Replayed, "attempts": r.Attempts}
	if end := r.Sunset; end != nil {
		data["sunset"] = end.At.Format(time.RFC3339)
		switch {
		case end.Terms && agreedNext(session, end.At):
			s.printNote(c, "the terms of this intent change at %s; you have agreed to the next ones", end.At.Local().Format(time.RFC1123))
		case end.Terms:
			s.printNote(c, "the terms of this intent change at %s: see uimgate agent agree SERVICE --next", end.At.Local().Format(time.RFC1123))
		case end.ReplacedBy != "":
			data["replaced_by"] = end.ReplacedBy
			s.printNote(c, "this intent ends at %s: use %s, which replaces it", end.At.Local().Format(time.RFC1123), end.ReplacedBy)
		default:
			s.printNote(c, "this intent ends at %s: see uimgate agent discover SERVICE", end.At.Local().Format(time.RFC1123))
		}
	}
	if r.Charge != nil {
		data["charge"] = chargeData(r.Charge)
	}
	if r.Receipt != nil {
		data["receipt"] = r.Receipt.Text
		s.printNote(c, "receipt: number %d in the account in %s", r.Receipt.Entry.K, r.Receipt.Entry.Account.Currency)
	}
	if len(r.Discrepancies) > 0 {
		data["discrepancies"] = r.Discrepancies
		printProblems(c, r.Discrepancies)
	}
	if l := r.RateLimit; l != nil {
		limit := map[string]int64{"remaining": l.Remaining}
		of := ""
		if l.Limit > 0 {
			limit["limit"], of = l.Limit, fmt.Sprintf(" of %d", l.Limit)
		}
		if l.Reset > 0 {
			limit["reset"] = int64(math.Ceil(l.Reset.Seconds()))
		}
		data["rate_limit"] = limit
		s.printNote(c, "calls left: %d%s", l.Remaining, of)
	}
	for name, text := range map[string]string{"request_id": r.RequestID, "idempotency_key": r.IdempotencyKey} {
		if text != "" {
			data[name] = text
		}
	}
	return s.printData(c, data, func(w io.Writer) error {
		var out bytes.Buffer
		if err := json.Indent(&out, r.Raw, "", "  "); err != nil {
			return err
		}
		out.WriteByte('\n')
		_, err := out.WriteTo(w)
		return err
	})
}

// readParams returns the parameters in text, the value of --params: a JSON object, @ and the name of a file, or - for stdin. It returns an
// empty object if text is empty.
func readParams(text string, stdin io.Reader) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	data, where := []byte(text), "--params"
	var err error
	switch path, isFile := strings.CutPrefix(text, "@"); {
	case text == "-":
		where = "stdin"
		data, err = cli.ReadAtMost(stdin, where, maxParameters)
	case isFile:
		where = path
		data, err = cli.ReadNamed(path, maxParameters)
	}
	if err != nil {
		return nil, fmt.Errorf("reading parameters: %w", err)
	}
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%s: %w", where, err))
	}
	return tree, nil
}

// assign adds name=value arguments to the parameters in tree, each with the type that the intent declares. It returns an error if a
// parameter is unknown or given twice, or if its value has another type.
func assign(tree map[string]any, in *intents.Intent, args []string) error {
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return cli.Usage(errors.New("parameters must be written name=value"))
		}
		if _, twice := tree[name]; twice {
			return cli.Usage(fmt.Errorf("the parameter %s is given twice", name))
		}
		p, ok := in.Input(name)
		if !ok {
			return unknownParameter(in, name)
		}
		value, ok := typed(types(p), text)
		if !ok {
			return cli.Usage(fmt.Errorf("the value of the parameter %s is not of type %s", name, strings.Join(types(p), " or ")))
		}
		tree[name] = value
	}
	return nil
}

func unknownParameter(in *intents.Intent, name string) error {
	known := make([]string, 0, len(in.Inputs))
	for _, p := range in.Inputs {
		known = append(known, p.Name)
	}
	if near := suggest.Name(name, known); near != "" {
		return cli.Usage(fmt.Errorf("%s has no parameter %s: did you mean %s?", in.UID, name, printable(near)))
	}
	return cli.Usage(fmt.Errorf("%s has no parameter %s: its parameters are %s", in.UID, name, printable(strings.Join(known, ", "))))
}

// types returns the JSON types that a parameter permits. It returns no types if the parameter permits all.
func types(p *intents.Parameter) []string {
	if p.Type != "" && p.Type != "any" {
		return []string{p.Type}
	}
	return schemaTypes(p.Schema)
}

func schemaTypes(schema map[string]any) []string {
	switch t := schema["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, item := range t {
			if name, ok := item.(string); ok {
				out = append(out, name)
			}
		}
		return out
	}
	var out []string
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		for _, item := range list {
			m, _ := item.(map[string]any)
			inner := schemaTypes(m)
			if len(inner) == 0 {
				return nil
			}
			out = append(out, inner...)
		}
	}
	return out
}

// typed converts a value from the command line to one of these types; an empty list permits all types. If the value is JSON of one of the
// types, typed decodes it. Otherwise, the value is a string. typed reports whether the result has one of the types.
func typed(types []string, text string) (any, bool) {
	if len(types) == 1 && types[0] == "string" {
		return text, true
	}
	value, err := strictjson.Decode([]byte(text))
	if err == nil {
		kind := strictjson.Kind(value)
		if len(types) == 0 || slices.Contains(types, kind) || kind == "number" && slices.Contains(types, "integer") {
			return value, true
		}
	}
	return text, len(types) == 0 || slices.Contains(types, "string")
}
