package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
)

// curationPage is the table of the operations of an imported document.
func (r *request) curationPage() error {
	var file policies.Curation
	l := listing[policies.CurationItem]{
		caption: "Operations of the document", empty: "No operation matches.",
		columns: []column[policies.CurationItem]{
			{"Operation", func(i policies.CurationItem) cell {
				return link(i.Key, r.address(at("catalogue", "curation", "operation"), "key", i.Key))
			}},
			{"Intent", func(i policies.CurationItem) cell { return code(i.UID) }},
			{"Decision", func(i policies.CurationItem) cell { return curationState(i.State) }},
			{"Served now", func(i policies.CurationItem) cell { return text(yesNo(i.Offered)) }},
			{"Only reads", func(i policies.CurationItem) cell { return text(safeText(&i)) }},
			{"Price", func(i policies.CurationItem) cell { return amount(i.Price, "") }},
			{"Limit", func(i policies.CurationItem) cell { return text(i.Limit) }},
			{"Name", func(i policies.CurationItem) cell { return text(i.Name) }},
			{"Description", func(i policies.CurationItem) cell { return text(shortened(i.Description)) }},
			{"Notes", func(i policies.CurationItem) cell { return text(shortened(i.Notes)) }},
		},
		fetch: func(ctx context.Context, p api.PageRequest) (api.Page[policies.CurationItem], error) {
			var err error
			file, err = admin.Call(ctx, r.console.Operator, operation.Curation, policies.CurationQuery{
				PageRequest: p, Service: r.service(), Search: r.URL.Query().Get("search"),
			})
			return file.Page, err
		},
	}
	err := l.page(r, pageView{
		Title: "Curation", Lead: "The operations of the document that uimgate init has imported. Empty texts are those of the document.",
	}, r.filtered(r.search("search", "Operation, UID or name")))
	if f, ok := errors.AsType[*reason.Refusal](err); ok && f.Reason == reason.NoSuchRecord {
		return r.show(http.StatusOK, pageView{Title: "Curation", Sections: []section{{Lines: []string{f.Message}}}})
	}
	return err
}

func curationState(state string) cell {
	return cell{Text: state, State: map[string]string{policies.CurationOffered: "ok", policies.CurationHidden: "warn"}[state]}
}

func safeText(i *policies.CurationItem) string {
	if !i.Offered {
		return ""
	}
	return yesNo(i.Safe)
}

// curated returns the file of the curation, with the operation that has a key.
func (r *request) curated(key string) (policies.Curation, *policies.CurationItem, error) {
	file, err := read(r, operation.Curation, policies.CurationQuery{
		Service: r.service(), Search: key, PageRequest: api.PageRequest{Limit: 1000},
	})
	if err != nil {
		return file, nil, err
	}
	for i := range file.Items {
		if file.Items[i].Key == key {
			return file, &file.Items[i], nil
		}
	}
	return file, nil, reason.NoSuchRecord.Refusal("The curation does not list this operation.")
}

// curationOperation has the form for one operation.
func (r *request) curationOperation() error {
	file, item, err := r.curated(r.URL.Query().Get("key"))
	if err != nil {
		return err
	}
	return r.show(http.StatusOK, pageView{
		Title: item.Key, Lead: "See what an edit would change before you save it.", Sections: []section{
			{Facts: facts(
				fact{"Intent", code(item.UID)}, fact{"Served now", text(yesNo(item.Offered))}, fact{"Only reads", text(safeText(item))},
				fact{"File", code(file.Path)}, fact{"All operations", link("Curation", r.address(at("catalogue", "curation")))},
			)},
			{Forms: []form{r.curationForm(item, file.SHA256)}},
		},
	})
}

func (r *request) curationForm(i *policies.CurationItem, sha256 string) form {
	state := field{ID: "state", Name: "state", Label: "Offer it to agents"}
	for _, o := range []option{
		{Value: policies.CurationOffered, Label: "yes"},
		{Value: policies.CurationHidden, Label: "no"},
		{Value: policies.CurationUndecided, Label: "as the selection decides"},
	} {
		o.Selected = o.Value == i.State
		state.Options = append(state.Options, o)
	}
	agreement := field{ID: "agreement", Name: "agreement", Label: "Agreements", Options: []option{
		{Label: "as configured"},
		{Value: "any", Label: "any", Selected: i.Agreement == "any"},
		{Value: "fresh", Label: "fresh ones", Selected: i.Agreement == "fresh"},
	}}
	return form{
		Path: r.address(at("catalogue", "curation", "impact")), Title: "Edit", Button: "Compare", Wide: true,
		Text: "Nothing is changed yet.", Fields: []field{
			hidden("key", i.Key), hidden("sha256", sha256), state,
			{ID: "name", Name: "name", Label: "Name", Value: i.Name, Hint: "Empty: that of the document."},
			{ID: "description", Name: "description", Label: "Description", Type: "textarea", Value: i.Description, Hint: "For agents.", Rows: 4},
			{ID: "price", Name: "price", Label: "Price of a call", Value: i.Price, Hint: "Such as 0.05 EUR. Empty: free."},
			{ID: "limit", Name: "limit", Label: "Limit of one agent", Value: i.Limit, Hint: "Such as 100/hour."},
			agreement,
			{ID: "notes", Name: "notes", Label: "Notes", Type: "textarea", Value: i.Notes, Hint: "For people.", Rows: 3},
		},
	}
}

// editedCuration returns the text of the curation with the operation of a form, and the operation as the form has it.
func (r *request) editedCuration() (edit policies.CurationEdit, file policies.Curation, item *policies.CurationItem, err error) {
	f := r.PostForm
	if file, item, err = r.curated(f.Get("key")); err != nil {
		return edit, file, nil, err
	}
	edit = policies.CurationEdit{Service: r.service(), SHA256: f.Get("sha256"), Force: f.Get("force") == "yes"}
	var price money.Amount
	if value := strings.TrimSpace(f.Get("price")); value != "" {
		if price, err = money.Parse(value); err != nil {
			return edit, file, nil, reason.MalformedRequest.Refusal("The price must be an amount such as 0.05 EUR.")
		}
	}
	var rate limit.Rate
	if value := strings.TrimSpace(f.Get("limit")); value != "" {
		if rate, err = limit.ParseRate(value); err != nil {
			return edit, file, nil, reason.MalformedRequest.Refusal("The limit must be a rate such as 100/hour.")
		}
	}
	state := map[string]curation.State{policies.CurationOffered: curation.Offered, policies.CurationHidden: curation.Hidden}[f.Get("state")]
	changed, err := openapi.SetOperation([]byte(file.Text), item.Key, func(o *curation.Operation) {
		o.Hidden, o.Name, o.Description = state, strings.TrimSpace(f.Get("name")), curation.Prose(strings.TrimRight(r.lines("description"), "\n"))
		o.Price, o.Limit, o.Agreement, o.Notes = price, rate, oneOf(f.Get("agreement"), []string{"any", "fresh"}),
			curation.Prose(strings.TrimRight(r.lines("notes"), "\n"))
	})
	if err != nil {
		return edit, file, nil, reason.MalformedRequest.Refusal("The operation cannot be edited here: " + err.Error())
	}
	edit.Text = string(changed)
	return edit, file, &policies.CurationItem{
		Key: item.Key, UID: item.UID, State: cmp.Or(f.Get("state"), item.State), Offered: item.Offered, Safe: item.Safe,
		Name: f.Get("name"), Description: r.lines("description"), Price: f.Get("price"), Limit: f.Get("limit"),
		Agreement: f.Get("agreement"), Notes: r.lines("notes"),
	}, nil
}

// curationImpact shows what the edit of a form would change.
func (r *request) curationImpact() error {
	edit, file, item, err := r.editedCuration()
	if err != nil {
		return err
	}
	found, err := read(r, operation.CurationImpact, edit)
	if err != nil {
		return err
	}
	p := pageView{Title: "What would change", Sections: []section{
		{Title: "The file", Text: file.Path, Pre: strings.Join(found.Diff, "\n")},
	}}
	if len(found.Diff) == 0 {
		p.Sections[0].Pre, p.Sections[0].Text = "", "The file does not change."
	}
	p.Sections = append(p.Sections, curationChanges(found.Changes, found.Waiting)...)
	if found.Policy != nil {
		p.Sections = append(p.Sections, r.impactSummary(found.Policy))
		p.Sections = append(p.Sections, r.callsThatChange(found.Policy)...)
		p.Sections = append(p.Sections, r.anewSections(found.Policy)...)
	}
	if len(found.Diff) > 0 {
		p.Sections = append(p.Sections, r.saveCurationSection(&file, item, edit))
	}
	p.Sections = append(p.Sections, section{Forms: []form{r.curationForm(item, edit.SHA256)}})
	return r.show(http.StatusOK, p)
}

// curationChanges lists what changes for agents, and what waits for the next import.
func curationChanges(changes, waiting []string) (out []section) {
	if len(changes) > 0 {
		out = append(out, section{Title: "The intents", Lines: changes})
	}
	if len(waiting) > 0 {
		out = append(out, section{
			Title: "Waits for the next import", Text: "This needs the document: run uimgate init again after you have saved.", Lines: waiting,
		})
	}
	return out
}

// saveCurationSection has the form that saves a curation or, if the console cannot save it, the text to copy.
func (r *request) saveCurationSection(file *policies.Curation, i *policies.CurationItem, edit policies.CurationEdit) section {
	out := section{Title: "Save"}
	switch {
	case !file.Writable:
		out.Text = "The gateway cannot write " + file.Path + ", agents.json and the policy. Copy this text into the source of the file, " +
			"and run uimgate init again."
		out.Pre = edit.Text
	case r.console.Operator.MayUse(r.caller, operation.SaveCuration.Name()) != nil:
		out.Text = "To save a curation, sign in as admin."
	default:
		f := form{
			Path: r.address(at("catalogue", "curation", "save")), Title: "Save and apply", Button: "Save…", Danger: true, Wide: true,
			Text: "Replaces " + file.Path + ", and agents.json and the policy if they change. Keeps the previous texts in files whose " +
				"names end with .1, and reloads.",
		}
		for _, one := range r.curationForm(i, edit.SHA256).Fields {
			value := one.Value
			for _, o := range one.Options {
				if o.Selected {
					value = o.Value
				}
			}
			f.Fields = append(f.Fields, hidden(one.Name, value))
		}
		f.Fields = append(f.Fields, field{Name: "force", Label: "Apply even if this ends calls of agents", Type: "checkbox"})
		out.Forms = []form{f}
	}
	return out
}

// saveCuration saves the edit of a form, and shows the result of the reload.
func (r *request) saveCuration() error {
	edit, file, item, err := r.editedCuration()
	if err != nil {
		return err
	}
	saved, err := admin.Do(r.Context(), r.console.Operator, r.caller, operation.SaveCuration, r.record(item.Key), edit)
	if f, ok := errors.AsType[*reason.Refusal](err); ok && f.Reason == reason.PolicyNotSaved {
		again := r.curationForm(item, file.SHA256)
		again.Title, again.Text = "Your edit", "Compare it with the present file, and save it again."
		return r.show(f.Status(), pageView{Title: f.Message, Sections: []section{
			{Lines: []string{f.Reason.OperatorSuggestion(), "Nothing was changed."}, Facts: []fact{{"File", code(file.Path)}}},
			{Title: "Edit it again", Forms: []form{again}},
		}})
	}
	if err != nil {
		return err
	}
	out := section{Text: "The files are replaced, and the configuration is applied.", Facts: facts(
		fact{"Configuration", code(saved.Reload.Configuration.Hash)}, fact{"Read", when(saved.Reload.Configuration.TakenAt)},
		fact{"Waits for a restart", text(strings.Join(saved.Reload.NeedsRestart, ", "))},
		fact{"All operations", link("Curation", r.address(at("catalogue", "curation")))},
	)}
	t := table{Caption: "Replaced files", Columns: heads("File", "Previous text")}
	for _, f := range saved.Files {
		t.Rows = append(t.Rows, []cell{code(f.Path), code(f.Kept)})
	}
	out.Table = &t
	for _, p := range saved.Reload.Problems {
		out.Lines = append(out.Lines, problemLine(p))
	}
	sections := append([]section{out}, curationChanges(saved.Changes, saved.Waiting)...)
	return r.show(http.StatusOK, pageView{Title: "The curation is saved", Sections: sections})
}

// reviewCuration describes what a person who saves a curation confirms.
func reviewCuration(r *request) []field {
	out := []field{{Label: "Service", Value: r.service()}, {Label: "Operation", Value: r.PostForm.Get("key")}}
	edit, _, _, err := r.editedCuration()
	if err != nil {
		return append(out, field{Label: "Problem", Value: admin.RefusalFor(err).Message})
	}
	found, err := read(r, operation.CurationImpact, edit)
	if err != nil {
		return append(out, field{Label: "Problem", Value: admin.RefusalFor(err).Message})
	}
	for _, line := range found.Changes {
		out = append(out, field{Label: "Change", Value: line})
	}
	for _, line := range found.Waiting {
		out = append(out, field{Label: "Waits for uimgate init", Value: line})
	}
	if edit.Force {
		out = append(out, field{Label: "Force", Value: "yes"})
	}
	return out
}

// curationActions is a function, because the pages that the actions show depend on the list of all actions.
func curationActions() []action {
	return []action{
		{path: "catalogue/curation/impact", operation: operation.CurationImpact.Name(), show: (*request).curationImpact},
		{
			path: "catalogue/curation/save", operation: operation.SaveCuration.Name(), question: "Save this curation and apply it?",
			rows: reviewCuration, back: func(*request) string { return at("catalogue", "curation") }, show: (*request).saveCuration,
		},
	}
}
