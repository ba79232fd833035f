package operatorcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/signin"
)

// Console returns the command uimgate console.
func Console() *cobra.Command {
	o := &operator{}
	var request signin.ConsoleLinkRequest
	var role string
	var codeOnly, noBrowser bool
	c := &cobra.Command{
		Use: "console", Short: "Open the console of a gateway in a browser",
		Long: `Console asks the gateway for a link that signs one person in to its console, prints the link, and opens
it in the browser of this machine if there is one. The link works once, within 5 minutes. Pass it on to a
colleague only with the role that the colleague needs.`,
		Example: "  uimgate console\n  uimgate console --as viewer --name ann --no-browser\n  uimgate console --code",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			request.Role = api.Role(role)
			if request.Name == "" {
				request.Name = userName()
			}
			l, err := call(c, o, operation.ConsoleLink, request)
			switch {
			case err != nil:
				return err
			case o.format == "json":
				return cli.PrintLine(c.OutOrStdout(), l)
			case codeOnly:
				_, err = fmt.Fprintln(c.OutOrStdout(), cli.Sanitize(l.Code))
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "The link signs %s in once, as %s, until %s.\n", cli.Sanitize(l.Name), l.Role, cli.HumanTime(l.Until))
			if _, err := fmt.Fprintln(c.OutOrStdout(), cli.Sanitize(l.URL)); err != nil {
				return err
			}
			if !noBrowser {
				openBrowser(c.Context(), l.URL, loading, c.ErrOrStderr())
			}
			return nil
		},
	}
	o.flags(c)
	c.Flags().StringVar(&role, "as", string(api.RoleAdmin), "role: viewer, operator, billing or admin")
	c.Flags().StringVar(&request.Name, "name", "", "who signs in, for the audit stream (default: your user name)")
	c.Flags().BoolVar(&codeOnly, "code", false, "print only a code that confirms who you are to the console")
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "do not open a browser")
	return c
}
