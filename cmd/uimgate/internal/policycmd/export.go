package policycmd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/cases"
)

func policyBundleCommand() *cobra.Command {
	var policy, out, request, world, input, dutyMode string
	var lenient bool
	c := &cobra.Command{
		Use: "bundle --policy FILE -o FILE", Short: "Export a policy as a bundle for the Open Policy Agent",
		Long: `Bundle writes a policy as a bundle for the Open Policy Agent (OPA), together with the rules that implement the
semantics of ODRL. With --request, it also writes the input for OPA, so that OPA reproduces the decision of uimgate:

  opa eval --bundle bundle.tar.gz --input input.json data.uimgate.odrl.evaluation

--request and --world are the same as for "policy decide". Bundle overwrites existing files.`,
		Example: `  uimgate policy bundle --policy policy.json -o bundle.tar.gz
  uimgate policy bundle --policy policy.json -o bundle.tar.gz --request request.json --world world.json --input input.json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			mode, err := cases.ParseDutyMode(dutyMode)
			switch {
			case err != nil:
				return cli.Usage(fmt.Errorf("--duty-mode: %w", err))
			case policy == "" || out == "":
				return cli.Usage(errors.New("--policy and -o are required"))
			case (request == "") != (input == ""):
				return cli.Usage(errors.New("--request and --input must be used together"))
			case world != "" && request == "":
				return cli.Usage(errors.New("--world requires --request"))
			}
			if err := onlyOneStdin(policy, request, world); err != nil {
				return err
			}
			p, _, err := loadPolicy(c, policy, lenient)
			if err != nil {
				return err
			}
			if err := privatefile.Stream(out, p.Bundle); err != nil {
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
	f.StringVarP(&out, "output", "o", "", "bundle file to write, such as bundle.tar.gz")
	f.StringVar(&request, "request", "", "a request to write OPA input for")
	f.StringVar(&world, "world", "", "the state of the world for the request")
	f.StringVar(&input, "input", "", "input file to write, such as input.json")
	f.StringVar(&dutyMode, "duty-mode", string(odrl.DutiesFulfilled), "fulfilled or notViolated")
	lenientFlag(c, &lenient)
	uidFlag(c)
	return c
}

// readQuestion reads a request and the state of the world. If world is empty, the state has only the current time.
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
		Long: `Canon prints a policy in a canonical form, so that policies that are written differently can be compared. The form is
ODRL 2.2 in JSON-LD, with the names of ODRL's context, IRIs for all other terms, and constraints in place of UIM's
short forms. The JSON is the canonical JSON of RFC 8785. The canonical form has the same meaning, and canon prints a
canonical policy unchanged. Rules keep their order. FILE may be - for stdin. Warnings go to stderr; an invalid policy
is an error.`,
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
