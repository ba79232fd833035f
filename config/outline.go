package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Outline returns the agents.json and the policies of each service in data, the text of the configuration at path. It does not check the
// configuration and does not read these files: it sets only their paths and the dates of the policies. It returns nil if data is not YAML.
func Outline(path string, data []byte, o Overrides) []Service {
	files := newReader(filepath.Dir(path))
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	c := &Config{}
	_, bad := yamlconf.Decode(data, c, yamlconf.Options{
		File: path, What: "the configuration", Types: o.Blocks.types(), Env: o.Env, ReadFile: files.secret,
		Needed: func(path string, _ bool) bool {
			return strings.HasSuffix(path, "].agents_file") || strings.HasSuffix(path, "].policy_file") || strings.Contains(path, "].policies[")
		},
	})
	if bad != nil {
		return nil
	}
	out := []Service{}
	for i := range c.Services {
		s := &c.Services[i]
		outline := Service{AgentsFile: files.outline(s.AgentsFile), PolicyFile: files.outline(s.PolicyFile)}
		for _, v := range s.Policies {
			outline.Policies = append(outline.Policies, DatedPolicy{File: files.outline(v.File), From: v.From})
		}
		out = append(out, outline)
	}
	return out
}

// outline returns a File that has a path but no content.
func (r *reader) outline(f File) File {
	if f.Path == "" {
		return File{}
	}
	return File{Path: r.path(f.Path)}
}
