// Package cli has the common parts of the command groups: usage errors, arguments, files, and printing of records.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
)

// ErrSilent ends a command with exit code 1 after it has itself printed the error.
var ErrSilent = errors.New("failed")

// UsageError is a mistake in the command line.
type UsageError struct{ error }

// Usage marks an error as one in the command line.
func Usage(err error) error { return UsageError{err} }

// KnownCommand rejects an unknown command, and suggests the nearest.
func KnownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// Args makes a wrong number of arguments a usage error.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return UsageError{err}
		}
		return nil
	}
}

// ReadNamed reads a file of at most most bytes.
func ReadNamed(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAtMost(f, name, most)
}

// ReadAtMost reads at most most bytes of the input that messages call name; more is an error.
func ReadAtMost(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}

// PrintProblems prints one problem of a configuration on each line.
func PrintProblems(w io.Writer, problems config.Problems) {
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
}
