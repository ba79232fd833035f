package operatorcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
)

// maxCuration bounds the file of a curation, in bytes.
const maxCuration = 1 << 20

var curationColumns = cli.Fields[policies.CurationItem]("key uid state offered price limit name description* agreement* notes*")

// Curation returns the command uimgate curation.
func Curation() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "curation", Short: "Show and change which operations of an imported document a running gateway offers",
		Long: `Curation shows and changes openapi.curation.yaml, which uimgate init writes next to agents.json. Texts, prices and limits
of intents that the gateway offers take effect at once, and intents of operations that you hide are retired. Changes that need
the document, such as operations that you offer again, take effect when you run uimgate init again.`,
		Example: "  uimgate curation list\n  uimgate curation impact draft.yaml\n  uimgate curation save draft.yaml --over openapi.curation.yaml",
	}, o.curationList(), o.curationImpact(), o.curationSave())
}

func (o *operator) curationList() *cobra.Command {
	var search string
	c := &cobra.Command{
		Use: "list", Short: "List the operations of the curation", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate curation list --search order",
		RunE: func(c *cobra.Command, _ []string) error {
			return printListing(c, o, curationColumns, func(
				ctx context.Context, api *client.Client, p api.PageRequest,
			) (api.Page[policies.CurationItem], error) {
				got, err := client.Do(ctx, api, operation.Curation, policies.CurationQuery{PageRequest: p, Service: o.service, Search: search})
				return got.Page, err
			})
		},
	}
	c.Flags().StringVar(&search, "search", "", "only operations with this text in their key, uid or name")
	return o.paging(c)
}

func readCuration(c *cobra.Command, name string) ([]byte, error) {
	return cli.ReadInput(c, name, "stdin", maxCuration)
}

func (o *operator) curationImpact() *cobra.Command {
	return &cobra.Command{
		Use: "impact FILE", Short: "Show what an edited curation would change", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Impact compares the curation in FILE with that of the gateway: the lines that differ, what changes for agents, and what
waits for the next run of uimgate init. If prices or limits change, it decides the calls of the last week again, as
uimgate policy impact does. Nothing is changed.`,
		Example: "  uimgate curation impact draft.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			text, err := readCuration(c, args[0])
			if err != nil {
				return err
			}
			got, err := call(c, o, operation.CurationImpact, policies.CurationEdit{Service: o.service, Text: string(text)})
			if err != nil {
				printRefusedPolicy(c.ErrOrStderr(), args[0], err)
				return err
			}
			if o.format != "table" {
				return cli.PrintLine(c.OutOrStdout(), got)
			}
			out := c.OutOrStdout()
			printLines(out, "", got.Diff)
			printLines(out, "Changes: ", got.Changes)
			printLines(out, "Waits for uimgate init: ", got.Waiting)
			if got.Policy != nil {
				return printImpact(out, got.Policy)
			}
			return nil
		},
	}
}

// printLines prints each line with a prefix.
func printLines(out io.Writer, before string, list []string) {
	for _, line := range list {
		fmt.Fprintln(out, before+cli.Sanitize(line))
	}
}

func (o *operator) curationSave() *cobra.Command {
	var over string
	var force bool
	c := &cobra.Command{
		Use: "save FILE", Short: "Replace the curation of a running gateway with an edited one, and reload", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Save writes the curation in FILE to the file of the gateway, and changes agents.json and the policy accordingly. It keeps
the previous texts next to them in files whose names end with .1, and reloads. If the reload is refused, it restores all files.
Save changes nothing if the file of the gateway no longer has the text that --over names.`,
		Example: "  uimgate curation save draft.yaml --over openapi.curation.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			if over == "" {
				return cli.Usage(errors.New("--over is required: name the text that you edited"))
			}
			text, err := readCuration(c, args[0])
			if err != nil {
				return err
			}
			edited, err := readCuration(c, over)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(edited)
			edit := policies.CurationEdit{Service: o.service, Text: string(text), SHA256: hex.EncodeToString(sum[:]), Force: force}
			saved, err := call(c, o, operation.SaveCuration, edit)
			if err != nil {
				printRefusedPolicy(c.ErrOrStderr(), args[0], err)
				return err
			}
			if o.format != "table" {
				return cli.PrintLine(c.OutOrStdout(), saved)
			}
			for _, f := range saved.Files {
				fmt.Fprintf(c.OutOrStdout(), "Replaced %s; the previous text is %s\n", cli.Sanitize(f.Path), cli.Sanitize(f.Kept))
			}
			printLines(c.OutOrStdout(), "Changes: ", saved.Changes)
			printLines(c.OutOrStdout(), "Waits for uimgate init: ", saved.Waiting)
			return nil
		},
	}
	c.Flags().StringVar(&over, "over", "", "the text that you edited, as a file")
	c.Flags().BoolVar(&force, "force", false, "apply the files even if they end calls of agents")
	return c
}
