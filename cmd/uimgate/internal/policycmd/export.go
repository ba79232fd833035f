package policycmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/cases"
)

func policyBundleCommand() *cobra.Command {
	var policy, out, request, world, input, dutyMode string
	var lenient bool
	c := &cobra.Command{
		Use: "bundle --policy FILE -o FILE", Short: "Write a policy as an OPA bundle, for decisions by plain OPA",
		Long: `Bundle writes a policy with the rules that give ODRL its meaning as a bundle for the Open Policy Agent. With a
request, it also writes the input with which OPA reproduces the decision of uimgate:

  opa eval --bundle bundle.tar.gz --input input.json data.uimgate.odrl.evaluation

--request and --world are those of "policy decide". Files that are there are replaced.`,
		Example: `  uimgate policy bundle --policy policy.json -o bundle.tar.gz
  uimgate policy bundle --policy policy.json -o bundle.tar.gz --request request.json --world world.json --input input.json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			mode, err := cases.ParseDutyMode(dutyMode)
			switch {
			case err != nil:
				return cli.Usage(fmt.Errorf("--duty-mode: %w", err))
			case policy == "" || out == "":
				return cli.Usage(errors.New("--policy and -o are needed"))
			case (request == "") != (input == ""):
				return cli.Usage(errors.New("--request and --input belong together"))
			case world != "" && request == "":
				return cli.Usage(errors.New("--world is for --request"))
			}
			if err := onlyOneStdin(policy, request, world); err != nil {
				return err
			}
			p, _, err := loadPolicy(c, policy, lenient)
			if err != nil {
				return err
			}
			if err := writeBundle(p, out); err != nil {
				return err
			}
			if request == "" {
				return nil
			}
			q, w, err := readQuestion(c, request, world, lenient)
			if err != nil {
				return err
			}
			text, err := p.Input(q, w, odrl.EvaluateOptions{DutyMode: mode})
			if err != nil {
				return err
			}
			return os.WriteFile(input, append(text, '\n'), 0o600)
		},
	}
	f := c.Flags()
	f.StringVar(&policy, "policy", "", "the policy")
	f.StringVarP(&out, "output", "o", "", "the bundle to write, such as bundle.tar.gz")
	f.StringVar(&request, "request", "", "a request to write the input of")
	f.StringVar(&world, "world", "", "the state of the world of the request")
	f.StringVar(&input, "input", "", "the input to write, such as input.json")
	f.StringVar(&dutyMode, "duty-mode", string(odrl.DutiesFulfilled), "fulfilled or notViolated")
	lenientFlag(c, &lenient)
	uidFlag(c)
	return c
}

// writeBundle writes to a temporary file first, so that a bundle is complete or absent.
func writeBundle(p *odrl.Policy, path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(p.Bundle(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// readQuestion reads a request and the state of the world; without one, only the time is known.
func readQuestion(c *cobra.Command, request, world string, lenient bool) (odrl.Question, odrl.WorldState, error) {
	w := odrl.WorldState{Now: time.Now()}
	query, err := readSource(c, request)
	if err != nil {
		return odrl.Question{}, w, err
	}
	q, err := odrl.ParseQuestion(query.data, lenient)
	if err != nil {
		return odrl.Question{}, w, fmt.Errorf("%s: %w", query.name, err)
	}
	if world != "" {
		known, err := readSource(c, world)
		if err != nil {
			return odrl.Question{}, w, err
		}
		if w, err = odrl.ParseWorldState(known.data); err != nil {
			return odrl.Question{}, w, fmt.Errorf("%s: %w", known.name, err)
		}
	}
	return q, w, nil
}

func policyCanonCommand() *cobra.Command {
	var lenient bool
	c := &cobra.Command{
		Use: "canon FILE", Short: "Print a policy as canonical JSON-LD",
		Long: `Canon prints a policy in a form that does not depend on how it is spelled: the JSON-LD of ODRL 2.2 with the
names of ODRL's own context, other terms as IRIs and UIM's short forms as constraints, in the canonical JSON of
RFC 8785. It means the same, and canon prints it again as the same bytes, so that two spellings of a policy can be
compared. Rules keep their order. FILE is - for stdin. Warnings go to stderr; a policy that is not valid is an error.`,
		Example: `  uimgate policy canon policy.json
  uimgate policy canon policy.json | sha256sum`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			src, err := readSource(c, args[0])
			if err != nil {
				return err
			}
			known, err := vocabularies(c)
			if err != nil {
				return err
			}
			out, problems := odrl.Canonical(src.data, odrl.LoadOptions{Lenient: lenient, Vocabularies: known})
			printPolicyProblems(c.ErrOrStderr(), src, problems)
			if out == nil {
				tellOfLenient(c, src, odrl.LoadOptions{Lenient: lenient, Vocabularies: known})
				return cli.ErrSilent
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", out)
			return err
		},
	}
	lenientFlag(c, &lenient)
	return c
}
