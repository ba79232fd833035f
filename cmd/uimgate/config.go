package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "About the configuration itself", Example: "  uimgate config dump\n  uimgate config schema > uimgate.schema.json",
	}
	c.AddCommand(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of uimgate.yaml, for editors", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate config schema > uimgate.schema.json",
		RunE: func(c *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(schema)
			return err
		},
	}, &cobra.Command{
		Use: "reference", Short: "Print every key with its default and meaning", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate config reference",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(config.Reference())
			return err
		},
	}, configDump())
	return c
}

func configDump() *cobra.Command {
	var path, format string
	c := &cobra.Command{
		Use: "dump", Short: "Print the configuration that holds, with defaults and without secrets", Args: usageArgs(cobra.NoArgs),
		Long: `Dump prints the configuration as a gateway started with the same file and environment takes it: with defaults,
each marked, and what the environment says in place of the file. Secrets, and whatever comes from a ${file:…}, read ***.
It asks no gateway and opens no database.`,
		Example: "  uimgate config dump -c uimgate.yaml\n  uimgate config dump -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			if format != "yaml" && format != "json" {
				return usageError{fmt.Errorf("--output %q: want yaml or json", format)}
			}
			cfg, problems := config.Load(path, config.Overrides{Env: os.LookupEnv})
			printProblems(c.ErrOrStderr(), problems)
			if cfg == nil {
				return errSilent
			}
			if format == "json" {
				return printLine(c.OutOrStdout(), cfg.Dump())
			}
			_, err := c.OutOrStdout().Write(cfg.Dump().YAML())
			return err
		},
	}
	configFlag(c, &path)
	c.Flags().StringVarP(&format, "output", "o", "yaml", "yaml or json")
	return c
}
