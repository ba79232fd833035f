package console

import (
	"github.com/uimgate/uimgate/gateway/admin/api"
)

// overview is the path of the first page.
const overview = "overview"

// navigation are the pages to which every page links, by the first segment of their path.
var navigation = []struct{ path, label string }{
	{"", "Overview"},
	{"agents", "Agents"},
	{"agreements", "Agreements"},
	{"calls", "Calls"},
	{"money", "Money"},
	{"catalogue", "Catalogue"},
	{"policy", "Policy"},
	{"doors", "Doors"},
	{"stops", "Kill switch"},
	{"settings", "Settings"},
}

// pages are the pages by their patterns below admin.ConsolePath.
var pages = map[string]func(*request) error{
	overview:                       (*request).overviewPage,
	"agents":                       (*request).agentsPage,
	"agents/{id}":                  (*request).agentPage,
	"agreements":                   (*request).agreementsPage,
	"agreements/{id}":              (*request).agreementPage,
	"calls":                        (*request).callsPage,
	"calls/{id}":                   (*request).callPage,
	"agents/{id}/invoice":          (*request).invoiceDocument,
	"money":                        (*request).moneyPage,
	"money/calls":                  (*request).executionsPage,
	"money/calls/{id}":             (*request).executionPage,
	"money/payments":               (*request).paymentsPage,
	"money/statements":             (*request).statementsPage,
	"money/invoices":               (*request).invoicesPage,
	"money/refunds":                (*request).refundsPage,
	"money/refunds/{id}":           (*request).creditNoteDocument,
	"money/ledger":                 (*request).ledgerPage,
	"catalogue/curation":           (*request).curationPage,
	"catalogue/curation/operation": (*request).curationOperation,
	"catalogue":                    (*request).cataloguePage,
	"policy":                       (*request).policyPage,
	"policy/changes":               (*request).policyChangesPage,
	"policy/edit":                  (*request).editPage,
	"doors":                        (*request).doorsPage,
	"doors/try":                    (*request).tryPage,
	"stops":                        (*request).stopsPage,
	"settings":                     (*request).settingsPage,
	"settings/keys":                (*request).keysPage,
	"settings/sessions":            (*request).sessionsPage,
	"settings/reloads":             (*request).reloadsPage,
}

// record identifies a record of the service of the request.
func (r *request) record(id string) api.Record { return api.Record{Service: r.service(), ID: id} }
