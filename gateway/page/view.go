package page

import (
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl/words"
)

const (
	frontIntents   = 100 // intents on the page; the search has all
	frontSentences = 200 // rules of the policy on the page; the policy has all
	// The intent itself, to which the page links, has all of these.
	frontParameters  = 50   // of one intent
	frontTags        = 20   // of one intent
	frontDescription = 2000 // bytes of one description
)

// A frontView is what the page shows.
type frontView struct {
	Style    template.CSS
	Service  intents.Service
	Name     string
	Links    frontLinks
	Intents  []intentView
	Total    int
	Policy   []topicView
	MoreRule int // rules that are not shown
	License  licenseView
	Keeps    []string // compliance
	Start    startView
}

type frontLinks struct{ Agents, Policy, Search, SearchAll, Execute, Issue, OpenAPI string }

// A topicView is the rules of one topic.
type topicView struct {
	Title     string
	Sentences []words.Sentence
}

type licenseView struct {
	Text  string // as it is called
	URL   string
	Plain []string
}

// A startView is what an agent needs in order to agree.
type startView struct {
	Audience, PolicyUID, Digest string
	TokenRate                   string
	Admitted                    bool // the operator decides which agents may agree
}

// An intentView is one intent.
type intentView struct {
	UID, Name, Description string
	URL                    string
	Tags                   []string
	Safe, FreshOnly        bool
	Proved, ChargesProved  bool // a proof of key with each call; with each that charges
	Ceiling                string
	Inputs, Outputs        []parameterView
	More                   int    // inputs and outputs that are not shown
	Example                string // a shell command
	Placeholders           bool   // some values in Example must be filled in
}

// A parameterView is one input or output.
type parameterView struct {
	Name, Type, Description string
	Required                bool
	Rules                   []string
	Default                 string // JSON; empty where there is none
}

func newFrontView(s *service.Definition) *frontView {
	info := s.Catalog.Service
	v := &frontView{
		Style:   template.CSS(frontCSS), //nolint:gosec // our own file, and no part of it comes from anywhere else
		Service: info, Name: info.Name,
		Links: frontLinks{
			Agents: s.At("/agents.json"), Policy: s.At("/api/policy"), Search: s.At("/api/intents/search"),
			SearchAll: s.At("/api/intents/search") + "?page_size=" + strconv.Itoa(intents.MaxPageSize) + "&page=2",
			Execute:   s.At("/api/intents/execute"), Issue: s.At("/api/pat/issue"), OpenAPI: s.At("/openapi.json"),
		},
		License: licenseOf(s.Catalog.License),
		Keeps:   complianceRules(s.Catalog.Compliance),
		Start: startView{
			Audience: s.Issuer, PolicyUID: s.Offer().UID, Digest: s.Offer().Digest, TokenRate: rateWords(s.TokenRate),
			Admitted: !s.OpenAdmission,
		},
	}
	if v.Name == "" {
		v.Name = s.Issuer
	}
	for _, in := range s.Offered() {
		if v.Total++; v.Total <= frontIntents {
			v.Intents = append(v.Intents, newIntentView(s, in))
		}
	}
	v.Policy, v.MoreRule = topics(words.Explain(s.Policy))
	return v
}

func newIntentView(s *service.Definition, in *service.Intent) intentView {
	uid := in.UID.String()
	v := intentView{
		UID: uid, Name: in.Name, Description: cut(in.Description), URL: s.At("/api/intents/" + url.PathEscape(uid)),
		Tags: in.Tags[:min(len(in.Tags), frontTags)], Safe: in.Safe, FreshOnly: in.FreshOnly,
		Proved: in.ProvedAlways(), ChargesProved: in.Price != "" && in.ProvedWhereCharged(),
	}
	if v.Name == "" {
		v.Name = in.UID.Name
	}
	if in.Ceiling.Max > 0 {
		v.Ceiling = rateWords(in.Ceiling)
	}
	v.Inputs, v.Outputs = parametersOf(in.Inputs), parametersOf(in.Outputs)
	v.More = len(in.Inputs) + len(in.Outputs) - len(v.Inputs) - len(v.Outputs)
	v.Example, v.Placeholders = exampleCall(s.At("/api/intents/execute"), in.Intent)
	return v
}

func parametersOf(list []intents.Parameter) []parameterView {
	var out []parameterView
	for i := range list[:min(len(list), frontParameters)] {
		p := &list[i]
		v := parameterView{Name: p.Name, Type: p.Type, Description: cut(p.Description), Required: p.Required, Rules: schemaRules(p.Schema)}
		if p.HasDefault {
			v.Default = cut(jsonText(p.Default))
		}
		out = append(out, v)
	}
	return out
}

// cut keeps a text to what a page can hold.
func cut(s string) string {
	if len(s) <= frontDescription {
		return s
	}
	return strings.ToValidUTF8(s[:frontDescription], "") + "…"
}

// topics groups the sentences of a policy under headings, and returns how many rules were left out.
func topics(list []words.Sentence) (out []topicView, more int) {
	kept := map[words.Topic][]words.Sentence{}
	for i, sentence := range list {
		if i >= frontSentences && sentence.Topic != words.Generally {
			more++
			continue
		}
		if len(kept[sentence.Topic]) < frontSentences {
			kept[sentence.Topic] = append(kept[sentence.Topic], sentence)
		}
	}
	for _, t := range []struct {
		topic words.Topic
		title string
	}{{words.Permitted, "What is permitted"}, {words.Forbidden, "What is forbidden"}, {
		words.Owed,
		"What every call owes",
	}, {words.Generally, "In general"}} {
		if len(kept[t.topic]) > 0 {
			out = append(out, topicView{t.title, kept[t.topic]})
		}
	}
	return out, more
}

// licenseOf puts the licence into words as far as it is one of the UIM scheme.
func licenseOf(text string) licenseView {
	v := licenseView{Text: text}
	if u, err := url.Parse(text); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil {
		v.URL = text
	}
	if l, err := intents.ParseLicense(text); err == nil {
		v.Text, v.Plain = l.String(), l.Plain()
	}
	return v
}

// complianceRules lists the rules that the service claims to follow.
func complianceRules(c intents.Compliance) []string {
	var list []string
	for _, group := range []struct {
		title string
		names []string
	}{{"Standards", c.Standards}, {"Certifications", c.Certifications}} {
		if len(group.names) > 0 {
			list = append(list, group.title+": "+strings.Join(group.names, ", "))
		}
	}
	for _, region := range slices.Sorted(maps.Keys(c.Regional)) {
		list = append(list, region+": "+c.Regional[region])
	}
	if c.Notes != "" {
		list = append(list, c.Notes)
	}
	return list
}

// rateWords words a rate for people.
func rateWords(r limit.Rate) string {
	n := strconv.FormatInt(r.Max, 10) + " calls "
	switch {
	case r.Period == limit.Lifetime:
		return n + "in all"
	case r.Period.Calendar():
		return n + "in a calendar " + string(r.Period) + " (UTC)"
	default:
		return n + "in any " + string(r.Period)
	}
}
