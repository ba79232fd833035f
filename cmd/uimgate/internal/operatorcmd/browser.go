package operatorcmd

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/uimgate/uimgate/internal/privatefile"
)

const (
	opening = 5 * time.Second  // for the program that opens the browser
	loading = 10 * time.Second // for the browser, which reads the page after the program has ended
)

// openBrowser opens a secret URL in the browser of the person at this machine. Every user of the machine can read the command lines of
// programs, so openBrowser passes the browser the path of a page that redirects to the URL. Only this user can read the page. openBrowser
// deletes it after wait, or when ctx ends. It reports on out if the browser cannot be opened.
func openBrowser(ctx context.Context, url string, wait time.Duration, out io.Writer) {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	page, err := writePage(url)
	if err == nil {
		defer func() {
			if err := os.RemoveAll(filepath.Dir(page)); err != nil {
				fmt.Fprintf(out, "Delete %s yourself: it contains the link.\n", page)
			}
		}()
		limited, cancel := context.WithTimeout(ctx, opening)
		defer cancel()
		err = exec.CommandContext(limited, program, page).Run() //nolint:gosec // the only argument is the path, which has a random name
	}
	if err != nil {
		fmt.Fprintln(out, "The browser could not be opened: open the link yourself.")
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// writePage writes a page that redirects to a URL into a new directory of this user, and returns its path. The directory is in the home
// directory, because browsers in a sandbox can read neither temporary nor hidden directories.
func writePage(url string) (path string, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(home, "uimgate-console-*")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "open.html")
	address := html.EscapeString(url)
	page := `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">` +
		`<meta http-equiv="refresh" content="0;url=` + address + `"><title>Console</title>` +
		`<a href="` + address + `">Open the console</a></html>` + "\n"
	if err := privatefile.Write(path, []byte(page)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return path, nil
}
