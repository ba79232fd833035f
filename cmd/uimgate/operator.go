package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
)

const (
	envAdminURL      = "UIMGATE_ADMIN_URL"
	envAdminToken    = "UIMGATE_ADMIN_TOKEN" //nolint:gosec // the name of a variable, not a token
	adminTimeout     = 5 * time.Minute       // a reload compiles every policy
	maxAdminAnswer   = 64 << 20
	maxTokenFile     = 4 << 10
	adminTokenInData = "admin.token"
)

// defaultAdminURL is where the admin listener is unless the configuration puts it elsewhere.
var defaultAdminURL = "http://" + config.Defaults().Admin.Listen

// operatorCommands are the commands over the admin API of a running gateway.
func operatorCommands() []*cobra.Command {
	return []*cobra.Command{agentsCommand(), agreementsCommand(), patsCommand(), usageCommand(), statusCommand(), reloadCommand()}
}

// An operator is who runs these commands: where the gateway is, by which token, how answers are printed.
type operator struct {
	url, tokenFile, config string
	service, format        string
	after                  string
	limit                  int
	all                    bool
}

// group is a command that only holds others; its flags are theirs too.
func (o *operator) group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = usageArgs(cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	o.flags(c)
	return c
}

// flags adds what every operator command takes.
func (o *operator) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVar(&o.url, "admin", "", "URL of the admin listener (env "+envAdminURL+", else the configuration's, else "+defaultAdminURL+")")
	f.StringVar(&o.tokenFile, "admin-token-file", "", "file with the admin token (else env "+envAdminToken+", else the configuration's data directory)")
	f.StringVarP(&o.config, "config", "c", "uimgate.yaml", "the configuration, to find the admin listener and its token")
	f.StringVar(&o.service, "service", "", "the service meant, where the gateway has several")
	f.StringVarP(&o.format, "output", "o", "table", "table, json or csv")
}

// paging adds the flags of listings.
func (o *operator) paging(c *cobra.Command) *cobra.Command {
	c.Flags().IntVar(&o.limit, "limit", 100, "how many at most, up to 1000")
	c.Flags().StringVar(&o.after, "after", "", "go on after the page before, as it said")
	c.Flags().BoolVar(&o.all, "all", false, "all pages, however many")
	c.MarkFlagsMutuallyExclusive("all", "limit")
	return c
}

// values are the query parameters of a request: pairs of name and value, empty values left out.
func (o *operator) values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if o.service != "" {
		v.Set("service", o.service)
	}
	return v
}

// page are the query parameters of a listing.
func (o *operator) page(pairs ...string) url.Values {
	v := o.values(pairs...)
	switch {
	case o.all:
		v.Set("limit", "1000")
	case o.limit != 0:
		v.Set("limit", fmt.Sprint(o.limit))
	}
	if o.after != "" {
		v.Set("after", o.after)
	}
	return v
}

// apiPath joins escaped segments. Dots are escaped too where they are all there is: an agent may be called "..".
func apiPath(segments ...string) string {
	var out strings.Builder
	for _, s := range segments {
		out.WriteByte('/')
		if s == "." || s == ".." {
			out.WriteString(strings.ReplaceAll(s, ".", "%2E"))
			continue
		}
		out.WriteString(url.PathEscape(s))
	}
	return out.String()
}

// get asks for a record; post does something. Both return the answer as it came.
func (o *operator) get(c *cobra.Command, path string, query url.Values) ([]byte, error) {
	return o.call(c, http.MethodGet, path, query, nil)
}

func (o *operator) post(c *cobra.Command, path string, query url.Values, body any) ([]byte, error) {
	if body == nil {
		body = map[string]any{}
	}
	return o.call(c, http.MethodPost, path, query, body)
}

func (o *operator) call(c *cobra.Command, method, path string, query url.Values, body any) ([]byte, error) {
	if err := o.checkFormat(); err != nil {
		return nil, err
	}
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	token, err := o.token()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.Context(), adminTimeout)
	defer cancel()
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(encoded)
	}
	target := strings.TrimSuffix(base.String(), "/") + "/admin/v1" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, text)
	if err != nil {
		return nil, usageError{fmt.Errorf("the admin URL cannot be used: %w", err)}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "application/json")
	r.Host = hostFor(base)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := adminClient().Do(r)
	if err != nil {
		if inURL, ok := errors.AsType[*url.Error](err); ok {
			err = inURL.Err
		}
		if method != http.MethodGet {
			return nil, fmt.Errorf("no answer from the gateway at %s, so look whether it was done before you repeat it: %w", base, err)
		}
		return nil, fmt.Errorf("no answer from the gateway at %s: %w", base, err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAdminAnswer+1))
	if err != nil || len(data) > maxAdminAnswer {
		return nil, fmt.Errorf("the answer of %s is not whole", base)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(base, answer, data)
	}
	return data, nil
}

// hostFor is the Host header. The admin API answers only to addresses and localhost, which keeps web pages out; where it
// has a name, for which its certificate is, the name is for TLS alone.
func hostFor(base *url.URL) string {
	if _, err := netip.ParseAddr(base.Hostname()); err != nil {
		return "localhost"
	}
	return base.Host
}

// adminClient goes straight to the gateway: no proxy, and no redirect that would take the token elsewhere.
func adminClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A refusedError is what the gateway answered instead.
type refusedError struct {
	message, suggestion, reason string
	problems                    []admin.Problem
}

func (e *refusedError) Error() string {
	if e.suggestion == "" {
		return e.message
	}
	return e.message + "\n" + e.suggestion
}

func refusal(base *url.URL, answer *http.Response, data []byte) error {
	var envelope struct {
		Error struct {
			Message string `json:"message"`
			Details struct {
				Reason     string          `json:"reason"`
				Suggestion string          `json:"suggestion"`
				Services   []string        `json:"services"`
				Problems   []admin.Problem `json:"problems"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil || envelope.Error.Message == "" {
		return fmt.Errorf("%s answers %s, which is not how the admin API of uimgate answers: is it the admin listener?", base, answer.Status)
	}
	e := envelope.Error
	suggestion := e.Details.Suggestion
	if len(e.Details.Services) > 0 {
		suggestion = "Name one with --service: " + strings.Join(e.Details.Services, ", ")
	}
	return &refusedError{plain(e.Message), plain(suggestion), e.Details.Reason, e.Details.Problems}
}

// base is the admin URL. The token goes over plain http only to this machine.
func (o *operator) base() (*url.URL, error) {
	text := o.url
	if text == "" {
		text = os.Getenv(envAdminURL)
	}
	if text == "" {
		text = o.configuredURL()
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usageError{errors.New("the admin URL must be like " + defaultAdminURL)}
	}
	if address, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !address.IsLoopback()) {
		return nil, usageError{fmt.Errorf("the token would go to %s unencrypted: use https, or an SSH tunnel to a local port", u.Host)}
	}
	return u, nil
}

// configuredURL is where the configuration puts the admin listener, as this machine reaches it; the
// default where there is no configuration to read, or the port is not known from it.
func (o *operator) configuredURL() string {
	cfg, _ := config.Load(o.config, config.Overrides{Env: os.LookupEnv})
	if cfg == nil {
		return defaultAdminURL
	}
	host, port, err := net.SplitHostPort(cfg.Admin.Listen)
	if err != nil || port == "0" {
		return defaultAdminURL
	}
	if address, err := netip.ParseAddr(host); host == "" || (err == nil && address.IsUnspecified()) {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if cfg.Server.TLS.Enabled() {
		u.Scheme = "https"
	}
	return u.String()
}

// token is the admin token: of --admin-token-file, else of the environment, else of the gateway that the
// configuration describes.
func (o *operator) token() (string, error) {
	if o.tokenFile != "" {
		return readToken(o.tokenFile)
	}
	if token := os.Getenv(envAdminToken); token != "" {
		return usable(token, envAdminToken)
	}
	cfg, problems := config.Load(o.config, config.Overrides{Env: os.LookupEnv})
	if cfg == nil {
		return "", fmt.Errorf("there is no admin token: give --admin-token-file or %s, or -c with the gateway's configuration:\n%w", envAdminToken, problems.Err())
	}
	if !cfg.Admin.Token.IsEmpty() {
		return usable(cfg.Admin.Token.Reveal(), "admin.token in "+o.config)
	}
	return readToken(filepath.Join(cfg.Data, adminTokenInData))
}

func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	return usable(strings.TrimSpace(string(text)), file)
}

// usable refuses what cannot be a token, without showing it.
func usable(token, from string) (string, error) {
	if token == "" || len(token) > maxTokenFile || strings.ContainsFunc(token, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return "", fmt.Errorf("%s holds no token", from)
	}
	return token, nil
}
