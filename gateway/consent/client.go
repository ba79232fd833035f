package consent

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	maxURL       = 2048 // maximum length of a URL that a client sends, in bytes
	maxClientID  = 64   // maximum length of the id of a registered client, in bytes
	maxName      = 100  // maximum length of a client's name, in characters
	maxRedirects = 20
	mostCached   = 1000 // client documents
	mostTrusted  = 10_000
	leastKept    = 5 * time.Minute
	longestKept  = 24 * time.Hour
)

// A Client is an OAuth client that requests consent.
type Client struct {
	ID        string // URL of its document, or id of its registration
	Name      string // name that the client gives itself
	Document  string // digest of its document; empty: the client is registered
	Redirects []string
	CreatedAt time.Time // time of the registration
}

// Host returns the host of the client's document, which is the only proof of who the client is. It returns "" for a registered client,
// because anyone can register a client under any name.
func (c Client) Host() string {
	u, err := url.Parse(c.ID)
	if c.Document == "" || err != nil {
		return ""
	}
	return u.Host
}

// A Document is a fetched client-ID metadata document.
type Document struct {
	Body   []byte
	MaxAge time.Duration // from its header fields; 0: not specified
}

// Fetch fetches a document from a URL that a client chose, so the URL is untrusted. It must not follow redirects, must connect only to
// public addresses, and must limit size and time.
type Fetch func(ctx context.Context, address string) (Document, error)

// A keptDocument is the client of a document that was fetched recently.
type keptDocument struct {
	client Client
	until  time.Time
}

// trust records the client of a consent as trusted if the client has a document and the operator has approved the agent.
func (d *Service) trust(ctx context.Context, kept store.Consent, agent pat.AgentID) {
	if kept.Document == "" {
		return
	}
	if a, err := d.store.Agent(ctx, kept.Service, agent); err == nil && a.Approved {
		d.trusted.Set([2]string{kept.Service, kept.ClientID}, struct{}{})
	}
}

// Client returns the client with an id. If the id is a URL, it is the address of the client's metadata document. Client fetches the
// document and caches it for as long as the header fields of the response allow, but at least 5 minutes and at most a day. Any other id is
// that of a registered client. Errors are an *Error or a *reason.Refusal. See draft-ietf-oauth-client-id-metadata-document; RFC 7591.
func (d *Service) Client(ctx context.Context, c agree.Call, id string, fetch Fetch) (Client, error) {
	if !strings.HasPrefix(id, "https://") {
		unknown := failed(InvalidClient, "No client with this id is registered: register again, or use a client-ID metadata document.")
		if !registration(id) {
			return Client{}, unknown
		}
		registered, err := d.store.Client(ctx, c.Service.ID, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && !d.now().Before(registered.Until) {
			return Client{}, unknown
		}
		return Client{ID: id, Name: registered.Name, Redirects: registered.Redirects, CreatedAt: registered.CreatedAt}, errorOf(err)
	}
	if !documentURL(id) {
		return Client{}, failed(InvalidClient, "A client_id that is a URL must be an https URL with a path, without fragment and user name.")
	}
	now := d.now()
	if known, ok := d.documents.Get(id); ok && now.Before(known.until) {
		return known.client, nil
	}
	if err := d.ask("fetch", c.From); err != nil {
		return Client{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	_, trusted := d.trusted.Get([2]string{c.Service.ID, id})
	leave, err := d.fetching.Take(ctx, fairqueue.Party{Name: c.From, Unapproved: !trusted})
	if err != nil {
		return Client{}, reason.Overloaded.Refusal("Too many client documents are being fetched.").After(fetchTime).
			ShedFor(reason.ShedDocuments)
	}
	defer leave()
	document, err := fetch(ctx, id)
	if err != nil { // the text of err may contain addresses of this network
		return Client{}, failed(InvalidClient, "The client-ID metadata document could not be fetched.")
	}
	client, err := readDocument(id, document.Body)
	if err != nil {
		return Client{}, err
	}
	d.documents.Set(id, keptDocument{client, now.Add(min(max(document.MaxAge, leastKept), longestKept))})
	return client, nil
}

// registration reports whether a string can be the id of a registered client. Only such a string may be passed to the store, because
// PostgreSQL, for example, rejects a NUL.
func registration(id string) bool {
	return id != "" && len(id) <= maxClientID && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// documentURL reports whether an id is a valid URL of a client document.
func documentURL(id string) bool {
	u, err := url.Parse(id)
	return err == nil && len(id) <= maxURL && shows(u) && u.User == nil && u.Fragment == "" && !strings.HasSuffix(id, "#") &&
		len(u.Path) > 1 && path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/") && u.String() == id
}

// readDocument parses the document that was fetched from the URL id.
func readDocument(id string, body []byte) (Client, error) {
	tree, err := strictjson.DecodeObject(body)
	if err != nil {
		return Client{}, failed(InvalidClient, "The client-ID metadata document is not a JSON object.")
	}
	if tree["client_id"] != id {
		return Client{}, failed(InvalidClient, "client_id in the client-ID metadata document must be the URL of the document.")
	}
	c, wrong := readMetadata(tree)
	if wrong != nil {
		return Client{}, failed(InvalidClient, "The client-ID metadata document is not valid: "+wrong.Description)
	}
	c.ID, c.Document = id, pat.DigestOf(body)
	return c, nil
}

// readMetadata reads the metadata of a client from its document or registration (RFC 7591 2). It sets only Name and Redirects.
func readMetadata(tree map[string]any) (Client, *Error) {
	if method, ok := tree["token_endpoint_auth_method"]; ok && method != "none" {
		return Client{}, failed(InvalidClientMetadata, "token_endpoint_auth_method must be none, because this service supports only public clients.")
	}
	list, _ := tree["redirect_uris"].([]any)
	if len(list) == 0 || len(list) > maxRedirects {
		return Client{}, failed(InvalidRedirectURI, "redirect_uris must be a list of 1 to 20 URIs.")
	}
	var c Client
	for _, item := range list {
		uri, _ := item.(string)
		if !redirectURI(uri) {
			return Client{}, failed(InvalidRedirectURI,
				"A redirect URI must be an https URI, an http URI of a loopback address, or a URI with a private-use scheme, without fragment.")
		}
		c.Redirects = append(c.Redirects, uri)
	}
	name, _ := tree["client_name"].(string)
	c.Name = plain(name, maxName)
	return c, nil
}

// notOfClients are schemes that browsers handle themselves. They cannot be private-use schemes of clients.
var notOfClients = []string{
	"about", "blob", "chrome", "data", "file", "filesystem", "ftp", "intent", "javascript", "mailto", "search-ms", "sms", "tel",
	"vbscript", "view-source", "ws", "wss",
}

// redirectURI reports whether a string is acceptable as a redirect URI of any client (RFC 8252 7; OAuth 2.1 2.3.1).
func redirectURI(text string) bool {
	u, err := url.Parse(text)
	if err != nil || text == "" || len(text) > maxURL || u.Fragment != "" || strings.Contains(text, "#") || u.User != nil ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		return false
	}
	switch u.Scheme {
	case "https":
		return shows(u)
	case "http":
		return loopback(u)
	default:
		return u.Scheme != "" && !slices.Contains(notOfClients, u.Scheme) && !strings.HasPrefix(u.Scheme, "ms-")
	}
}

// shows reports whether the page can show the host of a URL to people unchanged: the host is an IP address or an ASCII name. In other
// names, letters of another script can imitate ASCII letters (%D0%B0 in a host is a Cyrillic a).
func shows(u *url.URL) bool {
	const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	host := u.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	return host != "" && strings.Trim(host, names) == ""
}

// loopback reports whether a URL leads to the machine of the browser: its host is localhost, 127.0.0.1 or ::1.
func loopback(u *url.URL) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// redirects reports whether a URI is one of the client's redirect URIs. The comparison is exact, except that it ignores the port of an http
// URI with a loopback host. See RFC 8252, section 7.3.
func (c Client) redirects(uri string) bool {
	if !redirectURI(uri) {
		return false
	}
	own := withoutPort(uri)
	return slices.ContainsFunc(c.Redirects, func(one string) bool { return one == uri || own != "" && withoutPort(one) == own })
}

// withoutPort returns an http URI with a loopback host without its port. It returns "" for any other URI.
func withoutPort(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" || !loopback(u) {
		return ""
	}
	_, rest, _ := strings.Cut(uri, u.Host)
	return "http://" + u.Hostname() + rest
}

// SentTo describes the destination of a redirect URI: a host or, for a private-use scheme, the scheme. local reports whether the
// destination is a program on the browser's machine; any program can listen on a port or claim a scheme. See RFC 8252, section 8.6.
func SentTo(uri string) (to string, local bool) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", false
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return u.Scheme + ":", true
	}
	if host, _, err := net.SplitHostPort(u.Host); err == nil && loopback(u) {
		return host, true
	}
	return u.Host, loopback(u)
}

// plain removes invisible characters, and those that reorder the surrounding text, from an untrusted string. It also trims spaces. maxRunes
// is the maximum length of the result, in characters.
func plain(s string, maxRunes int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r), r == unicode.ReplacementChar:
			continue
		}
		if n++; n > maxRunes {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// Register registers a client. The registration is deleted after a day without a consent, or after an hour if new clients need the space.
// Errors are an *Error or a *reason.Refusal. See RFC 7591.
func (d *Service) Register(ctx context.Context, c agree.Call, metadata map[string]any) (Client, error) {
	if _, err := open(c.Service); err != nil {
		return Client{}, err
	}
	if err := d.ask("register", c.From); err != nil {
		return Client{}, err
	}
	client, wrong := readMetadata(metadata)
	if wrong != nil {
		return Client{}, wrong
	}
	if err := d.keep(strangers); err != nil {
		return Client{}, err
	}
	now := d.now()
	client.ID, client.CreatedAt = rand.Text(), now
	err := d.store.AddClient(ctx, store.Client{
		Service: c.Service.ID, ID: client.ID, Name: client.Name, Redirects: client.Redirects, CreatedAt: now, Until: now.Add(unusedFor),
	}, mostClients, now.Add(unusedFor-sparedFor))
	if errors.Is(err, store.ErrFull) {
		return Client{}, reason.Overloaded.Refusal("Too many clients are registered: use a client-ID metadata document.").After(time.Hour).
			ShedFor(reason.ShedClients)
	}
	return client, errorOf(err)
}
