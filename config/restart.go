package config

import (
	"maps"
	"reflect"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// NeedsRestart returns the paths of the settings, such as server.listen, that differ between c and next and take effect only after a
// restart. A reload applies all others. Files are compared by their contents, except those of server.tls: a renewed certificate is served
// immediately, so NeedsRestart compares only whether TLS is enabled, and the settings of acme.
func (c *Config) NeedsRestart(next *Config) []string {
	return restarts(reflect.ValueOf(c).Elem(), reflect.ValueOf(next).Elem(), "")
}

func restarts(now, next reflect.Value, path string) (changed []string) {
	following := maps.Collect(yamlconf.Values(next))
	for key, was := range yamlconf.Values(now) {
		is := following[key]
		switch {
		case was.Tag.Get("restart") == "true":
			if !sameSetting(was.Interface(), is.Interface()) {
				changed = append(changed, path+key)
			}
		case was.Kind() == reflect.Struct:
			changed = append(changed, restarts(was.Value, is.Value, path+key+".")...)
		default: // applied immediately
		}
	}
	return changed
}

func sameSetting(was, is any) bool {
	if secure, ok := was.(TLS); ok {
		next, _ := is.(TLS)
		return secure.Enabled() == next.Enabled() && reflect.DeepEqual(secure.ACME, next.ACME)
	}
	return reflect.DeepEqual(was, is)
}
