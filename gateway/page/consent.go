package page

import (
	"cmp"
	"context"
	_ "embed"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// ConsentSecurity returns the Content-Security-Policy of a consent page. The page sends its form to its own origin, which redirects the
// browser to redirectURI. form-action allows both, because browsers also apply it to redirects after a form.
func ConsentSecurity(redirectURI string) string {
	return "default-src 'none'; style-src 'sha256-" + hashOf(frontCSS) + "'; form-action 'self'" + redirectSource(redirectURI) +
		"; base-uri 'none'; frame-ancestors 'none'"
}

// redirectSource returns a source expression for a redirect URI, preceded by a space, or an empty string if the URI has none (CSP 3,
// 2.3.1). For IPv6 hosts, which source expressions do not support, and for schemes other than http and https, the expression is the scheme
// alone.
func redirectSource(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" || strings.ContainsAny(u.Host+u.Scheme, " ;,'\"*") {
		return ""
	}
	if u.Scheme != "https" && u.Scheme != "http" || strings.Contains(u.Host, "[") {
		return " " + u.Scheme + ":"
	}
	return " " + u.Scheme + "://" + u.Host
}

const (
	consentDescription = 240 // the maximum length of the description of an intent, in bytes
	minuteFormat       = "2 January 2006, 15:04 UTC"
)

// A Consent renders the pages on which people consent to the use of one service by a client. It is safe for concurrent use.
type Consent struct {
	service *service.Definition
	name    string
	intents map[string]*service.Intent // by scope entry
	policy  []topicView
	more    int // number of rules of the policy that are not shown
}

// NewConsent prepares the content of the pages that does not depend on a request.
func NewConsent(s *service.Definition) *Consent {
	c := &Consent{service: s, name: s.Name(), intents: map[string]*service.Intent{}}
	for _, in := range s.Offered() {
		c.intents[in.ID+":execute"] = in
	}
	c.policy, c.more = topics(words.Explain(s.Policy))
	return c
}

// A shownView is the template data of the content that a person agrees to.
type shownView struct {
	Name, Issuer               string // the name and the issuer of the service
	Client, ClientID, Host, To string
	Local                      bool // To is the machine of the browser
	Choices                    []choiceView
	Plans                      []planView  // empty: the policy has no plans
	NoPlan                     bool        // a consent without a plan is possible
	Plan                       string      // the plan that the person chose before; empty: none
	Wide                       []string    // a scope entry for each namespace; replaces Choices if there would be too many of them
	WideLeft                   bool        // the person deselected Wide before
	Budget                     *budgetView // nil: the client can spend nothing
	Granted, LeftOut, More     int
	Limit, Length              string
	Policy                     []topicView
	PolicyURL, UID, Digest     string
	Next                       *nextView
	Since                      *sinceView
	Approved                   bool
}

// A sinceView describes what has changed since an earlier consent of the same person for the same client.
type sinceView struct {
	Date, Until string // Until is empty if the earlier consent no longer permits anything
	Known       bool
	Changes     []changeView
	More        int
	Kept        int // number of intents that the earlier consent still permits
}

// A planView is one plan that the person can choose.
type planView struct {
	Plan

	Chosen bool
}

// A choiceView is one intent that the person can deselect.
type choiceView struct {
	Entry, Name, Description, Terms string
	Left                            bool // the person deselected the intent before
	Kept, Changed                   bool // an earlier consent permits the intent; or permitted it before its terms changed
}

// A budgetView describes what the person may permit the client to spend.
type budgetView struct {
	Most, MostCall, MostDay, Above string // in words; MostDay is empty unless there is a lower maximum for a day
	Currency                       string
	Choices                        []choiceView
	Chosen                         BudgetInput
}

// BudgetInput holds the input of the person about money, as typed.
type BudgetInput struct {
	May                     bool // the client may spend money
	Amount, Period, PerCall string
	Entries                 []string // scope entries of the intents that may be charged
}

// budgetOf returns the view of a budget, or nil if there is none.
func (c *Consent) budgetOf(ctx context.Context, b *consent.BudgetChoice) *budgetView {
	if b == nil {
		return nil
	}
	v := &budgetView{
		Most: allowanceWords(b.Max), MostCall: b.PerCall.String(), Above: b.ConfirmAbove.String(), Currency: b.Max.Currency,
		Chosen: BudgetInput{Period: string(b.Max.Period)},
	}
	if b.Max.Period == limit.Month {
		v.MostDay = money.Amount{Nano: b.Max.Nano / 31, Currency: b.Max.Currency}.String()
	}
	for _, entry := range b.Entries {
		choice := c.choice(ctx, entry)
		if in := c.intents[entry]; in != nil {
			choice.Terms = paidTerms(ctx, c.service, in, b.Max.Currency)
		}
		choice.Left = true // no spending is permitted before the person has chosen it
		v.Choices = append(v.Choices, choice)
	}
	return v
}

// allowanceWords describes a limit in money, such as "20 EUR in a calendar month".
func allowanceWords(s limit.Allowance) string {
	if s.Period == limit.Month {
		return s.Amount.String() + " in a calendar month"
	}
	return s.Amount.String() + " in a day"
}

// Shown is the content that a person agrees to.
type Shown struct {
	view   *shownView
	html   template.HTML
	Digest string // the digest of the content before the person deselected anything
}

// Shown renders the content for a request. The content depends only on the request (including Earlier), the client and the terms.
func (c *Consent) Shown(ctx context.Context, r *consent.Request) (Shown, error) {
	s := c.service
	to, local := consent.SentTo(r.RedirectURI)
	v := shownView{
		Name: c.name, Issuer: s.Issuer, Client: r.Client.Name, ClientID: r.Client.ID, Host: r.Client.Host(), To: to, Local: local,
		Granted: len(r.Scope.Entries), Limit: rateWords(r.Scope.Limit), Length: LengthInWords(s.Announced().Consent.For), Approved: r.Approved,
		Policy: c.policy, More: c.more, PolicyURL: s.At("/api/policy"), UID: r.Policy.UID, Digest: r.Policy.Digest,
		Wide: consent.Wide(r.Scope), LeftOut: len(r.Scope.Omitted), Budget: c.budgetOf(ctx, r.Budget), Next: nextOf(s), Since: sinceOf(r.Earlier),
	}
	v.Client = cmp.Or(v.Client, "An unnamed client")
	if len(r.Plans) > 0 {
		v.NoPlan = r.NoPlan
		for _, plan := range Plans(ctx, s) {
			if slices.Contains(r.Plans, plan.Name) {
				v.Plans = append(v.Plans, planView{Plan: plan})
			}
		}
	}
	if v.Wide == nil {
		for _, entry := range r.Scope.Entries {
			choice := c.choice(ctx, entry)
			if e := r.Earlier; e != nil {
				choice.Kept, choice.Changed = slices.Contains(e.Unchanged, entry), slices.Contains(e.Changed, entry)
			}
			v.Choices = append(v.Choices, choice)
		}
	}
	html, err := fragment("shown", &v)
	return Shown{&v, html, pat.DigestOf([]byte(html))}, err
}

// sinceOf returns the view of an earlier consent, or nil if there is none.
func sinceOf(e *consent.Earlier) *sinceView {
	if e == nil {
		return nil
	}
	v := &sinceView{Date: e.At.UTC().Format("2 January 2006"), Known: e.Known, More: e.More, Kept: len(e.Unchanged)}
	if !e.Until.IsZero() {
		v.Until = e.Until.UTC().Format(minuteFormat)
	}
	for _, change := range e.Changes {
		v.Changes = append(v.Changes, changeView{change.About, change.Text})
	}
	return v
}

// Leaving returns the content for a page that is shown again. Only the chosen entries and the chosen plan are selected, and the input about
// money is filled in. The Digest is that of s.
func (s Shown) Leaving(chosen []string, plan string, spending BudgetInput) (Shown, error) {
	v := *s.view
	v.Plan, v.Plans = plan, slices.Clone(v.Plans)
	for i, p := range v.Plans {
		v.Plans[i].Chosen = p.Name == plan
	}
	v.Choices = slices.Clone(v.Choices)
	for i, c := range v.Choices {
		v.Choices[i].Left = !slices.Contains(chosen, c.Entry)
	}
	v.WideLeft = len(v.Wide) > 0 && !slices.ContainsFunc(v.Wide, func(entry string) bool { return slices.Contains(chosen, entry) })
	if s.view.Budget != nil {
		budget := *s.view.Budget
		budget.Chosen, budget.Choices = spending, slices.Clone(budget.Choices)
		for i, c := range budget.Choices {
			budget.Choices[i].Left = !slices.Contains(spending.Entries, c.Entry)
		}
		v.Budget = &budget
	}
	html, err := fragment("shown", &v)
	return Shown{&v, html, s.Digest}, err
}

func (c *Consent) choice(ctx context.Context, entry string) choiceView {
	v := choiceView{Entry: entry, Name: strings.TrimSuffix(entry, ":execute")}
	in := c.intents[entry]
	if in == nil {
		return v
	}
	if in.Name != "" {
		v.Name = in.Name
	}
	v.Description, v.Terms = cut(in.Description, consentDescription), freeTerms(ctx, c.service, in)
	return v
}

// LengthInWords describes a duration in its two largest units, such as 2 days and 12 hours. It omits seconds, unless the duration is
// shorter than a minute.
func LengthInWords(d time.Duration) string {
	var parts []string
	for _, u := range []struct {
		name   string
		length time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		n := int64(d / u.length)
		d -= time.Duration(n) * u.length
		if n > 0 {
			parts = append(parts, counted(n, u.name))
		}
	}
	if parts == nil {
		parts = []string{counted(int64(d/time.Second), "second")}
	}
	return strings.Join(parts[:min(len(parts), 2)], " and ")
}

// counted returns a number with its unit, such as 1 day or 2 days.
func counted(n int64, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + " " + unit
}

// A Field is a hidden field of a form.
type Field struct{ Name, Value string }

// A consentView is the template data of a page about a consent: of Ask, Waiting or Failed.
type consentView struct {
	Style   template.CSS
	Title   string
	Shown   template.HTML
	Fields  []Field
	Changed bool
	Invited bool
	Wrong   string // what is wrong with the input; empty: nothing
	Until   string // when a consent given now would end
	Waiting bool
	Agent   string
	Heading string
	Message string
	Back    Link
	Front   string
}

// A Link leads from a page to a client.
type Link struct{ To, URL string }

// Ask returns the page that asks for consent. Its form sends fields back with the decision. If invited is true, the form has an input for
// an invitation. If changed is true, the page has a note that its content has changed. wrong describes an error in the last input; it may
// be empty. The page shows when a consent given at now would end.
func (c *Consent) Ask(shown Shown, fields []Field, invited, changed bool, wrong string, now time.Time) ([]byte, error) {
	return c.page(&consentView{
		Title: "Consent", Shown: shown.html, Fields: fields, Invited: invited, Changed: changed, Wrong: wrong,
		Until: now.Add(c.service.Announced().Consent.For).UTC().Format(minuteFormat),
	})
}

// Waiting returns the page that is shown until the operator has decided. It reloads itself every five seconds.
func (c *Consent) Waiting(agent pat.AgentID) ([]byte, error) {
	return c.page(&consentView{Title: "Waiting for approval", Waiting: true, Agent: string(agent)})
}

// Failed returns the page for an error that the browser does not send to the client by itself. If back has a URL, the client receives the
// error when the person follows the link.
func (c *Consent) Failed(heading, message string, back Link) ([]byte, error) {
	return c.page(&consentView{Title: heading, Heading: heading, Message: message, Back: back})
}

func (c *Consent) page(v *consentView) ([]byte, error) {
	v.Style = template.CSS(frontCSS) //nolint:gosec // a constant file of this package
	v.Title += ": " + c.name
	v.Front = c.service.At("/")
	return render("consent.html", v)
}
