package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
)

// reloadsPage shows the last reloads of all processes, and what each changed.
func (r *request) reloadsPage() error {
	list := listing[admin.ReloadRecord]{
		caption: "Reloads of all processes, the newest first, at most 50", empty: "The configuration has not been reloaded.",
		columns: []column[admin.ReloadRecord]{
			{"Time", func(x admin.ReloadRecord) cell { return when(x.At) }},
			{"Process", func(x admin.ReloadRecord) cell { return text(x.Process) }},
			{"By", func(x admin.ReloadRecord) cell { return text(reloadedBy(&x)) }},
			{"Result", func(x admin.ReloadRecord) cell {
				switch {
				case !x.Applied:
					return cell{Text: fmt.Sprintf("refused, %d problems", x.Problems), State: "bad"}
				case x.Problems > 0:
					return cell{Text: fmt.Sprintf("applied, %d warnings", x.Problems), State: "warn"}
				}
				return cell{Text: "applied", State: "ok"}
			}},
			{"Changes", func(x admin.ReloadRecord) cell { return text(strings.Join(changesOf(&x), "; ")) }},
			{"Policy", func(x admin.ReloadRecord) cell { return policyChangeCell(&x) }},
			{"Configuration", func(x admin.ReloadRecord) cell { return code(x.Hash) }},
		},
		fetch: func(ctx context.Context, _ admin.PageRequest) (admin.Page[admin.ReloadRecord], error) {
			return r.console.Operator.Reloads(ctx)
		},
	}
	return list.page(r, pageView{
		Title: "Reloads", Lead: "What each reload changed. Values of settings are not recorded.",
	}, nil)
}

// reloadedBy returns who or what caused a reload.
func reloadedBy(x *admin.ReloadRecord) string {
	switch x.Cause {
	case admin.ReloadByRequest:
		return x.By
	case admin.ReloadBySignal:
		return "SIGHUP"
	case admin.ReloadByFile:
		return "a changed file"
	case admin.ReloadByRetirement:
		return "the end of an intent"
	case admin.ReloadByStart:
		return "the start of the process"
	}
	return string(x.Cause)
}

// changesOf describes what a reload changed.
func changesOf(x *admin.ReloadRecord) (list []string) {
	for _, s := range x.Services {
		list = append(list, serviceChanges(&s)...)
	}
	if len(x.Settings) > 0 {
		line := "settings: " + strings.Join(x.Settings, ", ")
		if x.MoreSettings > 0 {
			line += fmt.Sprintf(" and %d more", x.MoreSettings)
		}
		list = append(list, line)
	}
	switch {
	case len(list) > 0 || !x.Applied:
	case x.Cause == admin.ReloadByStart:
		list = append(list, "started with another configuration; what differs is not known")
	default:
		list = append(list, "nothing")
	}
	return list
}

func serviceChanges(s *admin.ServiceChange) (list []string) {
	if s.Change != "changed" {
		list = append(list, "service "+s.Service+" "+s.Change)
	}
	if s.PolicyBefore != "" && s.PolicyAfter != "" {
		list = append(list, fmt.Sprintf("policy of %s: %.20s → %.20s", s.Service, s.PolicyBefore, s.PolicyAfter))
	}
	for _, one := range []struct {
		name string
		ids  admin.ChangedIDs
	}{{"new intents", s.Added}, {"removed intents", s.Removed}, {"changed intents", s.Changed}, {"other terms", s.Terms}} {
		if one.ids.Count == 0 {
			continue
		}
		line := one.name + ": " + strings.Join(one.ids.First, ", ")
		if more := one.ids.Count - len(one.ids.First); more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		list = append(list, line)
	}
	return list
}
