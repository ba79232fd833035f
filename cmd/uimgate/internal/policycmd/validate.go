package policycmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

// A validation is the result of policy validate for one document.
type validation struct {
	Valid    bool         `json:"valid"`
	Problems problem.List `json:"problems"`
}

func policyValidateCommand() *cobra.Command {
	var output string
	var lenient, strict, batched bool
	c := &cobra.Command{
		Use: "validate FILE", Short: "Report all problems of a policy",
		Long: `Validate checks a policy against the ODRL Information Model 2.2 and the known profiles, and reports
every problem. Errors make the policy invalid. Warnings concern doubtful parts, such as rules that
contradict each other or can never apply. FILE may be - for stdin. The exit code is 1 if the policy
is invalid.

With --batch, each line of FILE (default stdin) is one document, and the command writes one result per
line, in order. The exit code is 1 if any document is invalid.`,
		Example: `  uimgate policy validate policy.json
  uimgate policy validate policy.json --strict -o json
  uimgate policy validate policy.json --profile catena-x --profile our-terms.ttl
  uimgate policy validate --batch < policies.jsonl`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			known, err := vocabularies(c)
			if err != nil {
				return err
			}
			check := func(ctx context.Context, doc []byte) validation {
				found := odrl.Validate(ctx, doc, odrl.ValidateOptions{Lenient: lenient, Vocabularies: known})
				return validation{Valid: !found.Failed() && (!strict || len(found) == 0), Problems: append(problem.List{}, found...)}
			}
			switch {
			case strict && lenient:
				return cli.Usage(errors.New("--strict and --lenient cannot be combined"))
			case batched:
				return validateBatch(c, args, check)
			case len(args) == 0:
				return cli.Usage(errors.New("name a policy file, or - for stdin"))
			}
			src, err := readSource(c, args[0])
			if err != nil {
				return err
			}
			v := check(c.Context(), src.data)
			if output == "json" {
				if err := cli.PrintJSON(c.OutOrStdout(), v); err != nil {
					return err
				}
			} else {
				printValidation(c.OutOrStdout(), src, v)
			}
			if !v.Valid {
				if !strict {
					tellOfLenient(c, src, odrl.LoadOptions{Lenient: lenient, Vocabularies: known})
				}
				return cli.ErrSilent
			}
			return nil
		},
	}
	outputFlag(c, &output, "text", "json")
	lenientFlag(c, &lenient)
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	c.Flags().BoolVar(&batched, "batch", false, "read one document per line, and write one result per line")
	return c
}

func printValidation(w io.Writer, src source, v validation) {
	printPolicyProblems(w, src, v.Problems)
	verdict := "valid"
	if !v.Valid {
		verdict = "invalid"
	}
	errors, warnings := 0, 0
	for _, p := range v.Problems {
		if p.Level == problem.Error {
			errors++
		} else {
			warnings++
		}
	}
	fmt.Fprintf(w, "%s: %s: %s, %s\n", src.name, verdict, problem.Counted(errors, "error"), problem.Counted(warnings, "warning"))
}

func validateBatch(c *cobra.Command, args []string, check func(context.Context, []byte) validation) error {
	invalid := false
	err := batch(c, args, func(ctx context.Context, line []byte) (any, error) {
		v := check(ctx, line)
		invalid = invalid || !v.Valid
		return v, nil
	})
	if err == nil && invalid {
		return cli.ErrSilent
	}
	return err
}
