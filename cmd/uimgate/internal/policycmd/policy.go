// Package policycmd implements the commands of uimgate policy.
package policycmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
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

// Command returns the command uimgate policy.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check, explain, test and compare ODRL policies",
		Long: `The policy commands work on ODRL 2.2 policies, with or without UIM terms. Except for impact and save, which use a
running gateway, they need neither a gateway nor a configuration. They compare names literally. To resolve
the names of a policy in your gateway, and to check that the gateway can enforce all of it, run
"uimgate check".`,
		Example: `  uimgate policy validate policy.json
  uimgate policy explain policy.json
  uimgate policy decide --policy policy.json --request '{"party":"https://a.example/1","action":"execute","target":"shop.example:search:v1"}'
  uimgate policy test cases.yaml
  uimgate policy diff old.json new.json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringArray("profile", nil,
		"profile vocabulary to recognize: a Turtle or JSON-LD file, or "+alternatives(odrl.ShippedVocabularies())+"; may be repeated")
	c.AddCommand(
		policyValidateCommand(), policyExplainCommand(), policyDecideCommand(), policyTestCommand(), policyDiffCommand(), policyCanonCommand(),
		policyBundleCommand(), policyReplayCommand(),
	)
	return c
}

// outputFlag adds the flag -o, whose values are known and whose default is the first of them. It sets c.PreRunE to check the value.
func outputFlag(c *cobra.Command, into *string, known ...string) {
	c.Flags().StringVarP(into, "output", "o", known[0], alternatives(known))
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(known, *into) {
			return cli.Usage(fmt.Errorf("-o must be %s, not %q", alternatives(known), *into))
		}
		return nil
	}
}

func alternatives(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func lenientFlag(c *cobra.Command, into *bool) {
	c.Flags().BoolVar(into, "lenient", false, "accept a policy that lacks required members: a missing member matches everything")
}

// uidFlag adds --policy-uid, which loadPolicy reads.
func uidFlag(c *cobra.Command) {
	c.Flags().String("policy-uid", "", "uid of the policy to use, if the document contains several")
}

// maxInput is the maximum size of a document, and of a line of a batch, in bytes.
const maxInput = 32 << 20

// A source is one document that the command line names.
type source struct {
	name string // for messages
	data []byte
}

// readSource reads the file that arg names, or stdin if arg is "-". If arg is a JSON object, it is the document itself.
func readSource(c *cobra.Command, arg string) (source, error) {
	if strings.HasPrefix(strings.TrimSpace(arg), "{") {
		return source{"the argument", []byte(arg)}, nil
	}
	data, err := cli.ReadInput(c, arg, "stdin", maxInput)
	if arg == "-" {
		arg = "stdin"
	}
	return source{arg, bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}, err
}

// onlyOneStdin returns a usage error if more than one of args is -, because stdin can be read only once. It modifies args.
func onlyOneStdin(args ...string) error {
	if n := len(slices.DeleteFunc(args, func(a string) bool { return a != "-" })); n > 1 {
		return cli.Usage(errors.New("only one document can be read from stdin"))
	}
	return nil
}

// loadPolicy reads a policy without resolving its names. If the policy is invalid, loadPolicy prints the problems on stderr and returns
// cli.ErrSilent.
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

// tellOfLenient suggests --lenient for a document that is valid only with this flag, such as an offer from a data space that has neither
// uid nor assigner.
func tellOfLenient(c *cobra.Command, src source, o odrl.LoadOptions) {
	if o.Lenient || c.Flags().Lookup("lenient") == nil {
		return
	}
	o.Lenient = true
	if p, _ := odrl.Load(c.Context(), src.data, o); p != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%s: the policy is valid with --lenient, where a missing member matches everything\n", src.name)
	}
}

// vocabularies returns the vocabularies that --profile lists, which are built in or in files.
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
				return nil, fmt.Errorf("%w (the built-in profiles are %s)", err, strings.Join(odrl.ShippedVocabularies(), ", "))
			}
			if v, err = odrl.ReadVocabulary(name, data); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// printPolicyProblems prints each problem of a document in the form "file:line: message (code)", and marks warnings.
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

// A lineError is the result for a line that failed.
type lineError struct {
	Error string `json:"error"`
}

// batch reads a file, or stdin, line by line, and writes the result of each line before it reads the next. For a line that fails it
// writes {"error": …}, and for a line whose result is nil it writes nothing. batch returns an error only if it cannot read or write, or
// if the context is done.
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
			err = fmt.Errorf("%w: the maximum is %d MiB", err, maxInput>>20)
		} else if err != nil {
			return fmt.Errorf("reading the batch: %w", err)
		}
		a := answerLine(c.Context(), line, err, answer)
		if a == nil { // a line without a result
			continue
		}
		if err := writeLine(out, a); err != nil {
			return fmt.Errorf("writing the result: %w", err)
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
	return cmp.Or(cli.PrintLine(w, v), w.Flush())
}
