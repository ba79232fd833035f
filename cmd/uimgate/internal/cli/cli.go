// Package cli contains what the command groups share: usage errors, argument checks, reading of files, and printing of records.
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

// ErrSilent is returned by a command that has already printed its error: the program exits with code 1 and prints nothing more.
var ErrSilent = errors.New("failed")

// UsageError marks an error as a mistake in the command line: the program exits with code 2.
type UsageError struct{ error }

// Usage returns err as a UsageError.
func Usage(err error) error { return UsageError{err} }

// KnownCommand rejects an unknown command, and suggests commands with similar names.
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

// Args returns check with its error as a UsageError.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return UsageError{err}
		}
		return nil
	}
}

// ReadNamed reads the file with this name. It returns an error if the file is larger than most bytes.
func ReadNamed(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAtMost(f, name, most)
}

// ReadAtMost reads r to its end. If r has more than most bytes, it returns an error that names the input by name.
func ReadAtMost(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}

// PrintProblems prints the problems of a configuration, one per line.
func PrintProblems(w io.Writer, problems config.Problems) {
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
}
