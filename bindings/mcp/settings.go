package mcp

import (
	"net/url"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Settings is the configuration block doors.mcp of a service.
type Settings struct {
	Enabled  bool   `yaml:"enabled" default:"true" doc:"Whether the door is open."`
	Path     string `yaml:"path" default:"/mcp" doc:"The path of the endpoint below public_url."`
	PageSize int    `yaml:"page_size" default:"200" min:"1" max:"1000" doc:"Tools in one response. Many clients never request the next page."`
	ListUpTo int    `yaml:"list_up_to" default:"40" min:"0" max:"100000" doc:"The number of intents up to which the list has one tool for each of them. If there are more, the list has three tools that search, describe and call intents, because a longer list fills the context of a model. A client chooses with ?tools=all, ?tools=search or ?tools=tag:orders on the URL."`
	// PublicList is for clients that ask a person to authorize them when they call a tool, and not only when they connect.
	PublicList bool     `yaml:"public_list" default:"true" doc:"Whether clients can list tools and search the catalogue without a PAT, as they can read agents.json. Set it to false for clients that ask for authorization only when they connect."`
	Origins    []string `yaml:"origins" max:"100" doc:"Origins of web pages that may use the endpoint, such as https://inspector.example.com, in addition to the origin of public_url."`
	Consent    Consent  `yaml:"consent" doc:"Consents by people."`
	// ConsentFor limits how long tokens can be refreshed, not how long a token is valid.
	ConsentFor time.Duration `yaml:"consent_for" default:"30d" min:"1h" max:"366d" doc:"How long after a person's consent the client can refresh its tokens."`

	consents bool // Consent is set, and pat.freshness allows it
}

// Consent is the block doors.mcp.consent. In the configuration, a boolean sets only Enabled.
type Consent struct {
	Enabled bool   `yaml:"enabled" default:"true" short:"true" doc:"Whether people may agree to the policy on a page of the gateway, for OAuth clients that have no key. Such an agreement permits no more than a static one: its calls are never charged, except within a budget. Requires pat.freshness: optional."`
	Budget  Budget `yaml:"budget" doc:"What people may permit clients to spend. Default: nothing, so calls under consent are never charged."`
}

// Budget is the block doors.mcp.consent.budget.
type Budget struct {
	Max          limit.Allowance `yaml:"max" doc:"The most that a person may let one client spend, such as 20 EUR/month or 5 EUR/day. Required for budgets. Clients spend only what was paid in for them: the credit of billing does not apply."`
	PerCall      money.Amount    `yaml:"per_call" doc:"The most that a person may let a client spend on one call without a confirmation. Default: max."`
	ConfirmAbove money.Amount    `yaml:"confirm_above" doc:"A call that costs more needs a confirmation, whatever the person permits. Default: per_call."`
}

// offer returns the bounds of budgets; nil if there are none.
func (b *Budget) offer() *service.BudgetOffer {
	if b.Max.Currency == "" {
		return nil
	}
	offer := &service.BudgetOffer{Max: b.Max, PerCall: b.PerCall, ConfirmAbove: b.ConfirmAbove}
	if offer.PerCall.Currency == "" {
		offer.PerCall = b.Max.Amount
	}
	if offer.ConfirmAbove.Currency == "" {
		offer.ConfirmAbove = offer.PerCall
	}
	return offer
}

// check reports amounts of another currency or above the maximum, and amounts without a maximum.
func (b *Budget) check(c *config.BlockCheck) {
	for _, one := range []struct {
		key    string
		amount money.Amount
	}{{"per_call", b.PerCall}, {"confirm_above", b.ConfirmAbove}} {
		switch {
		case one.amount.Currency == "":
		case b.Max.Currency == "":
			c.Errorf("consent.budget.max", "is required if %s is set", one.key)
		case one.amount.Currency != b.Max.Currency:
			c.Errorf("consent.budget."+one.key, "must have the currency of max, %s", b.Max.Currency)
		case one.amount.Nano > b.Max.Nano:
			c.Errorf("consent.budget."+one.key, "must be at most max, %s", b.Max)
		}
	}
}

// SettingsOf returns the settings of a service, or nil if the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.Enabled }

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	s.consents = s.Consent.Enabled && b.Config.PAT.Freshness == config.FreshnessOptional
	s.Consent.Budget.check(b)
	b.Path("path", s.Path)
	if s.Enabled {
		b.Claim("path", s.Path)
	}
	for i, origin := range s.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || origin != u.Scheme+"://"+u.Host {
			b.Errorf("origins["+strconv.Itoa(i)+"]", "%s is not an origin: want scheme and host, as in https://inspector.example.com",
				yamlconf.Quote(origin))
		}
	}
}

// Announce implements service.Announcer.
func (s *Settings) Announce(d *service.Definition) service.Announcement {
	url := d.At(s.Path)
	return service.Announcement{
		Members: []intents.Extra{{Name: "uim-mcp", Value: url}}, EntryPoints: []service.EntryPoint{{Name: Name, URL: url}},
		IssueURLs: []string{d.At("/oauth/token")},
		Consent:   &service.Consent{Resource: url, Open: s.consents, For: s.ConsentFor, Budget: s.Consent.Budget.offer()},
	}
}
