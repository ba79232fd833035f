package config

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Changed returns the keys of the settings that differ in next, such as server.max_body and services[shop].upstream.url. Keys of services
// follow all other keys. A service that is in only one of the two has one key. A file counts as changed if its content differs. Changed
// returns no values, because they may be secrets.
func (c *Config) Changed(next *Config) []string {
	changed := changedKeys(reflect.ValueOf(c).Elem(), reflect.ValueOf(next).Elem(), "")
	was, is := map[string]*Service{}, map[string]*Service{}
	for i := range c.Services {
		was[c.Services[i].ID] = &c.Services[i]
	}
	for i := range next.Services {
		s := &next.Services[i]
		is[s.ID] = s
		key := fmt.Sprintf("services[%s]", s.ID)
		if before := was[s.ID]; before != nil {
			changed = append(changed, changedKeys(reflect.ValueOf(before).Elem(), reflect.ValueOf(s).Elem(), key+".")...)
		} else {
			changed = append(changed, key)
		}
	}
	for i := range c.Services {
		if id := c.Services[i].ID; is[id] == nil {
			changed = append(changed, fmt.Sprintf("services[%s]", id))
		}
	}
	return changed
}

// changedKeys compares two structs. It skips the list of services.
func changedKeys(was, is reflect.Value, path string) (changed []string) {
	following := maps.Collect(yamlconf.Values(is))
	for key, before := range yamlconf.Values(was) {
		after, both := following[key]
		delete(following, key)
		switch {
		case before.Type() == reflect.TypeFor[[]Service]():
		case !both || before.Type() != after.Type():
			changed = append(changed, path+key)
		case hasKeys(before.Value) && hasKeys(after.Value):
			changed = append(changed, changedKeys(before.Value, after.Value, path+key+".")...)
		case !reflect.DeepEqual(before.Interface(), after.Interface()):
			changed = append(changed, path+key)
		}
	}
	for key := range yamlconf.Values(is) {
		if _, added := following[key]; added {
			changed = append(changed, path+key)
		}
	}
	return changed
}

// hasKeys reports whether a value is a struct with keys.
func hasKeys(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		if v = v.Elem(); v.Kind() != reflect.Pointer {
			return false
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return false
	}
	for range yamlconf.Fields(v.Type()) {
		return true
	}
	return false
}
