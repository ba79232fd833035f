// Package policycmd has the commands about policies: uimgate policy.
package policycmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// Command is uimgate policy.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check, explain, try and compare ODRL policies",
		Long: `Policy works on ODRL 2.2 policies by themselves, with or without the terms of UIM: no gateway and no
configuration is needed. Names are compared as they are: "uimgate check" resolves them in your gateway, and
reports whether it can enforce all of a policy.`,
		Example: `  uimgate policy validate policy.json
  uimgate policy explain policy.json
  uimgate policy decide --policy policy.json --request '{"party":"https://a.example/1","action":"execute","target":"shop.example:search:v1"}'
  uimgate policy test cases.yaml
  uimgate policy diff old.json new.json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringArray("profile", nil,
		"vocabulary of a profile that is known: a file in Turtle or JSON-LD, or "+alternatives(odrl.ShippedVocabularies())+"; may be repeated")
	c.AddCommand(
		policyValidateCommand(), policyExplainCommand(), policyDecideCommand(), policyTestCommand(), policyDiffCommand(), policyCanonCommand(),
		policyBundleCommand(), policyReplayCommand(),
	)
	return c
}

// outputFlag adds -o; the first of known is the default.
func outputFlag(c *cobra.Command, into *string, known ...string) {
	c.Flags().StringVarP(into, "output", "o", known[0], alternatives(known))
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(known, *into) {
			return cli.Usage(fmt.Errorf("-o is %s, not %q", alternatives(known), *into))
		}
		return nil
	}
}

func alternatives(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func lenientFlag(c *cobra.Command, into *bool) {
	c.Flags().BoolVar(into, "lenient", false, "accept a policy that lacks required members: a missing member means everything")
}

// uidFlag adds --policy-uid, which loadPolicy reads.
func uidFlag(c *cobra.Command) {
	c.Flags().String("policy-uid", "", "the uid of the policy that is meant, where a document holds several")
}

// maxInput bounds one document, and one line of a batch, in bytes.
const maxInput = 32 << 20

// A source is one document as named on the command line.
type source struct {
	name string // for messages
	data []byte
}

// readSource reads a file, stdin for "-", or the argument itself if it is a JSON object.
func readSource(c *cobra.Command, arg string) (source, error) {
	if strings.HasPrefix(strings.TrimSpace(arg), "{") {
		return source{"the argument", []byte(arg)}, nil
	}
	var data []byte
	var err error
	if arg == "-" {
		arg = "stdin"
		data, err = cli.ReadAtMost(c.InOrStdin(), arg, maxInput)
	} else {
		data, err = cli.ReadNamed(arg, maxInput)
	}
	return source{arg, bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}, err
}

// onlyOneStdin rejects a command line that reads stdin twice.
func onlyOneStdin(args ...string) error {
	if n := len(slices.DeleteFunc(args, func(a string) bool { return a != "-" })); n > 1 {
		return cli.Usage(errors.New("only one document can be read from stdin"))
	}
	return nil
}

// loadPolicy reads a policy literally and prints its problems on stderr.
func loadPolicy(c *cobra.Command, arg string, lenient bool) (*odrl.Policy, source, error) {
	src, err := readSource(c, arg)
	if err != nil {
		return nil, src, err
	}
	o := odrl.LoadOptions{Lenient: lenient}
	if o.Vocabularies, err = vocabularies(c); err != nil {
		return nil, src, err
	}
	if f := c.Flags().Lookup("policy-uid"); f != nil {
		o.Policy = f.Value.String()
	}
	p, problems := odrl.Load(c.Context(), src.data, o)
	if p == nil {
		printPolicyProblems(c.ErrOrStderr(), src, problems)
		tellOfLenient(c, src, o)
		return nil, src, cli.ErrSilent
	}
	return p, src, nil
}

// tellOfLenient suggests --lenient for a document that only it accepts, such as an offer without uid and assigner from a data space.
func tellOfLenient(c *cobra.Command, src source, o odrl.LoadOptions) {
	if o.Lenient || c.Flags().Lookup("lenient") == nil {
		return
	}
	o.Lenient = true
	if p, _ := odrl.Load(c.Context(), src.data, o); p != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%s: --lenient accepts it nevertheless: a missing member means everything\n", src.name)
	}
}

// vocabularies returns those that --profile names.
func vocabularies(c *cobra.Command) ([]*odrl.Vocabulary, error) {
	if c.Flags().Lookup("profile") == nil {
		return nil, nil
	}
	names, err := c.Flags().GetStringArray("profile")
	if err != nil {
		return nil, err
	}
	list := make([]*odrl.Vocabulary, 0, len(names))
	for _, name := range names {
		v := odrl.ShippedVocabulary(name)
		if v == nil {
			data, err := cli.ReadNamed(name, odrl.MaxVocabulary)
			if err != nil {
				return nil, fmt.Errorf("%w (built in are %s)", err, strings.Join(odrl.ShippedVocabularies(), ", "))
			}
			if v, err = odrl.ReadVocabulary(name, data); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// printPolicyProblems prints the problems of a document as file:line: message, warnings marked.
func printPolicyProblems(w io.Writer, src source, problems problem.List) {
	for _, p := range problems {
		find := strictjson.Position
		if p.Code == "json" {
			find = strictjson.Place
		}
		line, _ := find(src.data, p.Pointer)
		level := ""
		if p.Level == problem.Warning {
			level = "warning: "
		}
		fmt.Fprintf(w, "%s:%d: %s%s (%s)\n", src.name, line, level, cli.Sanitize(p.String()), p.Code)
	}
}

// A lineError is the result for an invalid line.
type lineError struct {
	Error string `json:"error"`
}

// batch responds to each line of a file, or of stdin, as soon as it has been read, in order. An invalid line gets {"error"}, and a line
// without a result (nil) gets no output. Only reading and writing can fail the whole.
func batch(c *cobra.Command, args []string, answer func(context.Context, []byte) (any, error)) error {
	in := c.InOrStdin()
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	r, out := bufio.NewReaderSize(in, 1<<20), bufio.NewWriter(c.OutOrStdout())
	for {
		line, err := lines.Read(r, maxInput)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, lines.ErrTooLong) {
			err = fmt.Errorf("%w: it may have %d MiB", err, maxInput>>20)
		} else if err != nil {
			return fmt.Errorf("reading the batch: %w", err)
		}
		a := answerLine(c.Context(), line, err, answer)
		if a == nil { // a line without a result
			continue
		}
		if err := writeLine(out, a); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
		if err := c.Context().Err(); err != nil {
			return err
		}
	}
}

func answerLine(ctx context.Context, line []byte, err error, answer func(context.Context, []byte) (any, error)) any {
	if err != nil {
		return lineError{err.Error()}
	}
	a, err := answer(ctx, line)
	if err != nil {
		return lineError{err.Error()}
	}
	return a
}

func writeLine(w *bufio.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return w.Flush()
}
