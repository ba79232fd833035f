package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
)

// reloadsPage shows the last reloads of all processes, and what each changed.
func (r *request) reloadsPage() error {
	list := listing[reloads.ReloadRecord]{
		caption: "Reloads of all processes, the newest first, at most 50", empty: "The configuration has not been reloaded.",
		columns: []column[reloads.ReloadRecord]{
			{"Time", func(x reloads.ReloadRecord) cell { return when(x.At) }},
			{"Process", func(x reloads.ReloadRecord) cell { return text(x.Process) }},
			{"By", func(x reloads.ReloadRecord) cell { return text(reloadedBy(&x)) }},
			{"Result", func(x reloads.ReloadRecord) cell {
				switch {
				case !x.Applied:
					return cell{Text: fmt.Sprintf("refused, %d problems", x.Problems), State: "bad"}
				case x.Problems > 0:
					return cell{Text: fmt.Sprintf("applied, %d warnings", x.Problems), State: "warn"}
				}
				return cell{Text: "applied", State: "ok"}
			}},
			{"Changes", func(x reloads.ReloadRecord) cell { return text(strings.Join(changesOf(&x), "; ")) }},
			{"Policy", func(x reloads.ReloadRecord) cell { return policyChangeCell(&x) }},
			{"Configuration", func(x reloads.ReloadRecord) cell { return code(x.Hash) }},
		},
		fetch: func(ctx context.Context, _ api.PageRequest) (api.Page[reloads.ReloadRecord], error) {
			return r.console.Operator.Reloads.Reloads(ctx)
		},
	}
	return list.page(r, pageView{
		Title: "Reloads", Lead: "What each reload changed. Values of settings are not recorded.",
	}, nil)
}

// reloadedBy returns who or what caused a reload.
func reloadedBy(x *reloads.ReloadRecord) string {
	switch x.Cause {
	case reloads.ReloadByRequest:
		return x.By
	case reloads.ReloadBySignal:
		return "SIGHUP"
	case reloads.ReloadByFile:
		return "a changed file"
	case reloads.ReloadByRetirement:
		return "the end of an intent"
	case reloads.ReloadByStart:
		return "the start of the process"
	}
	return string(x.Cause)
}

// changesOf describes what a reload changed.
func changesOf(x *reloads.ReloadRecord) (list []string) {
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
	case x.Cause == reloads.ReloadByStart:
		list = append(list, "started with another configuration; what differs is not known")
	default:
		list = append(list, "nothing")
	}
	return list
}

func serviceChanges(s *reloads.ServiceChange) (list []string) {
	if s.Change != "changed" {
		list = append(list, "service "+s.Service+" "+s.Change)
	}
	if s.PolicyBefore != "" && s.PolicyAfter != "" {
		list = append(list, fmt.Sprintf("policy of %s: %.20s → %.20s", s.Service, s.PolicyBefore, s.PolicyAfter))
	}
	for _, one := range []struct {
		name string
		ids  reloads.ChangedIDs
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
