// Package cli contains functions that the command groups share: for usage errors, argument checks, reading files, and printing records.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
)

// ErrSilent is returned by a command that has already printed its error: the program then exits with code 1 without printing anything.
var ErrSilent = errors.New("failed")

// UsageError marks an error as a mistake in the command line: the program exits with code 2.
type UsageError struct{ error }

// Usage returns err as a UsageError.
func Usage(err error) error { return UsageError{err} }

// KnownCommand returns an error if there are arguments, because the first one is then the name of an unknown command. The error suggests
// commands with similar names.
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

// Args returns a check that returns the error of check as a UsageError.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return UsageError{err}
		}
		return nil
	}
}

// ReadNamed reads the file with this name. It returns an error if the file is larger than maxBytes.
func ReadNamed(name string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAtMost(f, name, maxBytes)
}

// ReadAtMost reads r to its end. If r has more than maxBytes bytes, it returns an error that contains name, the name of the input.
func ReadAtMost(r io.Reader, name string, maxBytes int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxBytes)
	}
	return text, err
}

// ReadInput reads the file with this name or, if the name is -, stdin. Errors call stdin by the name what. The maximum size is
// the same as that of ReadNamed.
func ReadInput(c *cobra.Command, name, what string, maxBytes int64) ([]byte, error) {
	if name == "-" {
		return ReadAtMost(c.InOrStdin(), what, maxBytes)
	}
	return ReadNamed(name, maxBytes)
}

// ConfigPath returns the path of a file of uimgate below an XDG base directory. That directory is the value of variable or, if this is not
// an absolute path, fallback below the home directory.
func ConfigPath(variable, fallback string, parts ...string) (string, error) {
	dir := os.Getenv(variable)
	if !filepath.IsAbs(dir) { // XDG ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the home directory: %w; set %s", err, variable)
		}
		dir = filepath.Join(home, fallback)
	}
	return filepath.Join(append([]string{dir, "uimgate"}, parts...)...), nil
}

// PrintProblems prints the problems of a configuration, one per line.
func PrintProblems(w io.Writer, problems config.Problems) {
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
}
