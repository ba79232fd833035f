package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/odrl"
)

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
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			src, err := readSource(c, args[0])
			if err != nil {
				return err
			}
			out, problems := odrl.Canonical(src.data, lenient)
			tellProblems(c.ErrOrStderr(), src, problems)
			if out == nil {
				return errSilent
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", out)
			return err
		},
	}
	lenientFlag(c, &lenient)
	return c
}
