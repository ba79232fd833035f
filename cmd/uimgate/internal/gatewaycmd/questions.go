package gatewaycmd

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/fetch"
)

// unanswered reports whether none of the flags that answer questions is set.
func (s *initSettings) unanswered() bool {
	return s.document == "" && s.options.Namespace == "" && s.options.Upstream == ""
}

// questions asks for the settings that no flag provides. It returns an error if the input cannot be read, or ends before the last answer.
func (s *initSettings) questions(ctx context.Context, stdin io.Reader, stderr io.Writer) error {
	ask := func(question, answer string, check func(string) error) (string, error) {
		return s.question(stdin, stderr, question, answer, check)
	}
	var err error
	if s.options.Namespace == "" {
		if s.options.Namespace, err = ask("Domain of your service, such as shop.example", "", isDomain); err != nil {
			return err
		}
	}
	if s.options.Upstream == "" && s.document == "" {
		if s.options.Upstream, err = ask("URL of your API", "http://localhost:9000", isURL); err != nil {
			return err
		}
	}
	if s.document == "" {
		found := documentOf(ctx, s.options.Upstream)
		question := "OpenAPI document, a file or URL (Enter if you have none)"
		if found != "" {
			question = "OpenAPI document, a file or URL"
		}
		if s.document, err = ask(question, found, func(string) error { return nil }); err != nil {
			return err
		}
	}
	if s.options.Email == "" {
		question := "Email address for TLS certificates from Let's Encrypt (Enter for no TLS)"
		if s.options.Email, err = ask(question, "", isEmail); err != nil {
			return err
		}
	}
	if s.options.Email != "" && !s.agree {
		answer, err := ask("Do you agree to its subscriber agreement, "+subscriberAgreement+"? y or n", "", isYesOrNo)
		if err != nil {
			return err
		}
		s.agree = answer == "y" // if not, the command ends with an error
	}
	if s.serve {
		return nil
	}
	answer, err := ask("Start the gateway now? y or n", "y", isYesOrNo)
	s.serve = answer == "y"
	return err
}

// question asks until check accepts the answer. An empty line means the default, answer.
func (s *initSettings) question(stdin io.Reader, stderr io.Writer, question, answer string, check func(string) error) (string, error) {
	if s.lines == nil {
		s.lines = bufio.NewScanner(stdin) // the scanner reads ahead, so all questions must share it
	}
	for {
		fmt.Fprint(stderr, question)
		if answer != "" {
			fmt.Fprintf(stderr, " [%s]", answer)
		}
		fmt.Fprint(stderr, ": ")
		if !s.lines.Scan() {
			fmt.Fprintln(stderr)
			return "", errors.Join(errors.New("the input ended before all questions were answered"), s.lines.Err())
		}
		given := strings.TrimSpace(s.lines.Text())
		if given == "" {
			given = answer
		}
		err := check(given)
		if err == nil {
			return given, nil
		}
		fmt.Fprintf(stderr, "  %v\n", err)
	}
}

// subscriberAgreement is the page with the subscriber agreement of Let's Encrypt.
const subscriberAgreement = "https://letsencrypt.org/repository/"

func isYesOrNo(text string) error {
	if text != "y" && text != "n" {
		return errors.New("answer y or n")
	}
	return nil
}

func isEmail(text string) error {
	if text != "" && openapi.CheckEmail(text) != nil {
		return errors.New("not an email address: use one such as ops@shop.example")
	}
	return nil
}

func isDomain(text string) error {
	if openapi.CheckNamespace(text) != nil {
		return errors.New("not a domain: use a lowercase DNS name, such as shop.example")
	}
	return nil
}

func isURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
		return errors.New("not a URL: use one such as http://localhost:9000, without a user and a query")
	}
	return nil
}

// searchTime is the time limit of documentOf.
const searchTime = 3 * time.Second

// documentOf returns the URL of the OpenAPI document that an API serves at a usual path. It returns "" if it finds none within searchTime.
func documentOf(ctx context.Context, upstream string) string {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	client := fetch.New(fetch.Options{UserAgent: "uimgate-init", Timeout: searchTime})
	defer client.Close()
	for _, path := range []string{"/openapi.json", "/openapi.yaml", "/v3/api-docs", "/swagger.json"} {
		at := strings.TrimRight(upstream, "/") + path
		answer, err := client.Get(ctx, at, fetch.Document{Accept: "application/json, application/yaml;q=0.9", Max: read.MaxDocument})
		if err == nil && answer.Status == http.StatusOK {
			return at
		}
	}
	return ""
}

// skeletonFile is the name of the document that init writes for an API that has no document.
const skeletonFile = "openapi.yaml"

//go:embed skeleton.yaml
var skeletonData []byte

// skeleton writes a short OpenAPI document into the directory, unless there is already a file with its name, and returns its path.
func (s *initSettings) skeleton() (string, error) {
	path := filepath.Join(s.out, skeletonFile)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if s.review {
		return "", cli.Usage(fmt.Errorf("--review needs a document: set --openapi or --mcp, or create %s with init", path))
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil { //nolint:gosec // a document of an API contains no secrets
		return "", err
	}
	return path, cli.WriteFile(path, skeletonData)
}

// start runs the gateway with the written configuration until ctx ends.
func (s *initSettings) start(ctx context.Context, stdout, stderr io.Writer) error {
	path := filepath.Join(s.out, openapi.ConfigFile)
	return serve(ctx, path, config.Overrides{Listen: s.listen, AdminListen: s.adminListen}, stdout, stderr, func(a daemon.Addresses) {
		fmt.Fprintf(stderr, `
The gateway is running at %[1]s (Ctrl-C stops it). In another terminal:

  uimgate agent discover %[1]s      # what it offers
  uimgate status -c %[2]s           # what it serves
  uimgate serve -c %[2]s            # start it again later
`, a.Listen, path)
	})
}
