package confirm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/bridge/confirm"
)

// code is the code whose digest is in testdata/code.json. SaveCode writes the same with 600,000 rounds, which take a tenth of a second.
const code = "correct horse"

// A clock shows the time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func pages(t *testing.T) (*confirm.Pages, *clock) {
	t.Helper()
	text, err := os.ReadFile("testdata/code.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "confirm.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return pagesOf(t, path)
}

// pagesOf returns the pages for the code in the file at path.
func pagesOf(t *testing.T, path string) (*confirm.Pages, *clock) {
	t.Helper()
	c := &clock{at: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	p := confirm.New(confirm.Options{CodePath: path, Now: c.now})
	t.Cleanup(p.Close)
	return p, c
}

func ask(t *testing.T, p *confirm.Pages, digest string) confirm.Question {
	t.Helper()
	q, err := p.Ask(t.Context(), digest, confirm.Call{Service: "shop.example", Name: "<b>Order", Parameters: "{}", Price: "up to 1 EUR"})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// send sends a form, or requests the page if form is nil. change may be nil.
func send(t *testing.T, address string, form url.Values, change func(*http.Request)) (int, string) {
	t.Helper()
	method := http.MethodPost
	if form == nil {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") ||
		resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got the header %v", resp.Header)
	}
	return resp.StatusCode, string(body)
}

var confirms = url.Values{"decision": {"confirm"}, "code": {code}}

func TestConfirmationPermitsOneCall(t *testing.T) {
	t.Parallel()
	p, _ := pages(t)
	q := ask(t, p, "a")
	status, body := send(t, q.URL, nil, nil)
	if status != http.StatusOK || !strings.Contains(body, "&lt;b&gt;Order") || !strings.Contains(body, "up to 1 EUR") {
		t.Errorf("got %d %s", status, body)
	}
	if got := p.Take("a"); got != confirm.Open {
		t.Errorf("reading the page: state %d", got)
	}
	if again := ask(t, p, "a"); again != q {
		t.Errorf("got %v, want the same question %v", again, q)
	}
	if status, _ := send(t, q.URL, confirms, nil); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if err := p.Wait(t.Context(), q.ID); err != nil {
		t.Fatal(err)
	}
	for n, want := range []confirm.State{confirm.Allowed, confirm.Unknown} {
		if got := p.Take("a"); got != want {
			t.Errorf("take %d: %d, want %d", n, got, want)
		}
	}
	p.Return("a")
	if got := p.Take("a"); got != confirm.Allowed {
		t.Errorf("after Return: %d", got)
	}
}

// A call that takes a confirmation but is not made returns it. If the same call has been asked about again in the meantime, the
// confirmation answers that question.
func TestReturnedConfirmationAnswersTheNextQuestion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer url.Values // of the next question; nil: none
		want   confirm.State
	}{"open": {nil, confirm.Allowed}, "refused": {url.Values{"decision": {"refuse"}}, confirm.Refused}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := pages(t)
			if status, _ := send(t, ask(t, p, "a").URL, confirms, nil); status != http.StatusOK || p.Take("a") != confirm.Allowed {
				t.Fatalf("status %d", status)
			}
			next := ask(t, p, "a")
			if test.answer != nil {
				send(t, next.URL, test.answer, nil)
			}
			p.Return("a")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without an answer, Wait would not end
			defer cancel()
			if err := p.Wait(ctx, next.ID); err != nil {
				t.Fatal(err)
			}
			for n, want := range []confirm.State{test.want, confirm.Unknown} {
				if got := p.Take("a"); got != want {
					t.Errorf("take %d: %d, want %d", n, got, want)
				}
			}
		})
	}
}

func TestRequestsThatConfirmNothing(t *testing.T) {
	t.Parallel()
	with := func(decision, code string) url.Values { return url.Values{"decision": {decision}, "code": {code}} }
	inQuery := func(r *http.Request) { r.URL.RawQuery = confirms.Encode() }
	from := func(origin string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Origin", origin) }
	}
	for name, test := range map[string]struct {
		form   url.Values
		change func(*http.Request)
		status int
		after  confirm.State
	}{
		"a wrong code":           {with("confirm", code+"!"), nil, http.StatusForbidden, confirm.Open},
		"no code":                {with("confirm", ""), nil, http.StatusForbidden, confirm.Open},
		"a long code":            {with("confirm", strings.Repeat(code, 100)), nil, http.StatusForbidden, confirm.Open},
		"no decision":            {with("", code), nil, http.StatusBadRequest, confirm.Open},
		"a refusal":              {with("refuse", ""), nil, http.StatusOK, confirm.Refused},
		"a large form":           {with("confirm", strings.Repeat("a", 5<<10)), nil, http.StatusBadRequest, confirm.Open},
		"another host":           {confirms, func(r *http.Request) { r.Host = "shop.example" }, http.StatusForbidden, confirm.Open},
		"localhost":              {confirms, func(r *http.Request) { r.Host = "localhost:" + r.URL.Port() }, http.StatusForbidden, confirm.Open},
		"another origin":         {confirms, from("https://shop.example"), http.StatusForbidden, confirm.Open},
		"an opaque origin":       {confirms, from("null"), http.StatusForbidden, confirm.Open},
		"GET":                    {nil, inQuery, http.StatusOK, confirm.Open},
		"another method":         {confirms, func(r *http.Request) { r.Method = http.MethodPut }, http.StatusMethodNotAllowed, confirm.Open},
		"the code in the query":  {url.Values{"decision": {"confirm"}}, inQuery, http.StatusForbidden, confirm.Open},
		"the page's own origin ": {confirms, func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, http.StatusOK, confirm.Allowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := pages(t)
			q := ask(t, p, "a")
			if status, body := send(t, q.URL, test.form, test.change); status != test.status {
				t.Errorf("status %d, want %d: %s", status, test.status, body)
			}
			if got := p.Take("a"); got != test.after {
				t.Errorf("state %d, want %d", got, test.after)
			}
		})
	}
}

func TestQuestionsExpire(t *testing.T) {
	t.Parallel()
	p, c := pages(t)
	q := ask(t, p, "a")
	c.pass(confirm.Lifetime)
	if status, _ := send(t, q.URL, confirms, nil); status != http.StatusGone || p.Take("a") != confirm.Unknown {
		t.Errorf("status %d", status)
	}
	q = ask(t, p, "a")
	send(t, q.URL, confirms, nil)
	c.pass(confirm.Lifetime)
	if got := p.Take("a"); got != confirm.Unknown {
		t.Errorf("an old confirmation: %d", got)
	}
}

func TestWrongCodesAreLimited(t *testing.T) {
	t.Parallel()
	p, c := pages(t)
	wrong := url.Values{"decision": {"confirm"}, "code": {"wrong code"}}
	for n, digest := range []string{"a", "b", "c", "d"} {
		q := ask(t, p, digest)
		for range confirm.MaxTries {
			send(t, q.URL, wrong, nil)
		}
		if got := p.Take(digest); got != confirm.Refused {
			t.Errorf("question %d: %d", n, got)
		}
	}
	q := ask(t, p, "e")
	if status, _ := send(t, q.URL, confirms, nil); status != http.StatusTooManyRequests || p.Take("e") != confirm.Open {
		t.Errorf("the right code after 20 wrong ones: %d", status)
	}
	c.pass(time.Hour + time.Second)
	q = ask(t, p, "e")
	if status, _ := send(t, q.URL, confirms, nil); status != http.StatusOK {
		t.Errorf("an hour later: %d", status)
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	p, c := pages(t)
	long := confirm.Call{Parameters: strings.Repeat(" ", confirm.MaxParameters+1)}
	if _, err := p.Ask(t.Context(), "long", long); !errors.Is(err, confirm.ErrFull) {
		t.Errorf("got %v", err)
	}
	for n := range confirm.MaxQuestions {
		ask(t, p, string(rune('A'+n)))
	}
	if _, err := p.Ask(t.Context(), "one more", confirm.Call{}); !errors.Is(err, confirm.ErrFull) {
		t.Errorf("got %v", err)
	}
	c.pass(confirm.Lifetime)
	ask(t, p, "one more")
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*confirm.Pages, confirm.Question){
		"dropped": func(p *confirm.Pages, q confirm.Question) { p.Drop(q.ID) },
		"closed":  func(p *confirm.Pages, _ confirm.Question) { p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := pages(t)
			q := ask(t, p, "a")
			ended := make(chan error, 1)
			go func() { ended <- p.Wait(context.WithoutCancel(t.Context()), q.ID) }()
			end(p, q)
			if err := <-ended; err != nil || p.Take("a") != confirm.Unknown {
				t.Errorf("got %v", err)
			}
		})
	}
	p, _ := pages(t)
	q := ask(t, p, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx, q.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "confirm.json")
	if err := confirm.CheckCode(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for _, wrong := range []string{"", "short", strings.Repeat("x", confirm.MaxCode+1), "not\xffUTF-8"} {
		if err := confirm.SaveCode(path, wrong); !errors.Is(err, confirm.ErrCode) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if err := confirm.SaveCode(path, code); err != nil {
		t.Fatal(err)
	}
	if err := confirm.CheckCode(path); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if info, statErr := os.Stat(path); err != nil || statErr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), code) ||
		!strings.Contains(string(text), `"rounds":600000`) {
		t.Errorf("got %v, %s", err, text)
	}
	p, _ := pagesOf(t, path)
	for _, form := range []url.Values{{"decision": {"confirm"}, "code": {code + "!"}}, confirms} {
		q := ask(t, p, "a")
		status, _ := send(t, q.URL, form, nil)
		if right := form.Get("code") == code; (status == http.StatusOK) != right || (p.Take("a") == confirm.Allowed) != right {
			t.Errorf("code %q: status %d", form.Get("code"), status)
		}
	}
	for _, damaged := range []string{
		"", "{}", `{"version":1,"rounds":0,"salt":"AA==","sum":"AA=="}`, strings.Replace(string(text), "600000", "99999999", 1),
	} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if confirm.CheckCode(path) == nil {
			t.Errorf("%s was accepted", damaged)
		}
	}
}
