package aea

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	"github.com/uimgate/uimgate/bindings/aea/skill/echo"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// A SkillFactory returns a new skill for the agent that runs in r, each time that the configuration adds the skill. Errors are shown to the
// operator.
type SkillFactory func(r *runtime.Runtime) (runtime.Skill, error)

// factories has the skills that programs add.
var factories = struct {
	sync.RWMutex
	byName map[string]SkillFactory
}{byName: map[string]SkillFactory{}}

// RegisterSkill makes a skill available under a name for doors.aea.skills.own. Call it before the configuration is read, such as in the
// init function of a package that the program imports. It panics if the name is empty or taken; intents, search and echo are taken.
func RegisterSkill(name string, f SkillFactory) {
	factories.Lock()
	defer factories.Unlock()
	if name == "" || f == nil || factories.byName[name] != nil || slices.Contains([]string{"intents", "search", "echo"}, name) {
		panic("aea: the skill " + name + " has no name or no function, or is registered twice")
	}
	factories.byName[name] = f
}

func factory(name string) SkillFactory {
	factories.RLock()
	defer factories.RUnlock()
	return factories.byName[name]
}

// factoryNames returns the names of the skills that programs add.
func factoryNames() []string {
	factories.RLock()
	defer factories.RUnlock()
	return slices.Sorted(maps.Keys(factories.byName))
}

// skills are the skills of one agent besides intents, as last configured.
type skills struct {
	mu        sync.Mutex
	directory *directory.Skill         // nil: off
	added     map[string]wire.PublicID // ids of the other skills, by the name in the configuration
}

// follow adds and removes skills of a running or new agent, as the settings require, and passes the other settings that may change to the
// skill intents. It returns the errors of skills that cannot be added; all others are added.
func (a *agent) follow(ctx context.Context, set *Settings, c directory.Config) error {
	a.skills.mu.Lock()
	defer a.skills.mu.Unlock()
	resources := a.runtime.Resources()
	wanted := map[string]SkillFactory{}
	if set.Skills.Echo {
		wanted["echo"] = func(*runtime.Runtime) (runtime.Skill, error) { return echo.Skill(), nil }
	}
	for _, name := range set.Skills.Own {
		wanted["own/"+name] = factory(name)
	}
	for name, id := range a.skills.added {
		if wanted[name] == nil {
			_ = resources.Remove(id) // the agent has it
			a.decisions.Forget(id)
			delete(a.skills.added, name)
		}
	}
	emptied := false
	switch {
	case set.Skills.Search && a.skills.directory == nil:
		d := directory.New(c)
		if err := resources.Add(d.Skill()); err != nil {
			d.Close()
			return err
		}
		a.skills.directory, emptied = d, true
	case !set.Skills.Search && a.skills.directory != nil:
		_ = resources.Remove(directory.ID)
		a.skills.directory.Close()
		a.skills.directory = nil
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, has := a.skills.added[name]; has {
			continue
		}
		s, err := a.made(wanted[name])
		if err == nil {
			s.Disabled = s.Disabled || slices.Contains(set.Skills.Disabled, strings.TrimPrefix(name, "own/"))
			err = resources.Add(s)
		}
		if err != nil {
			failed = fmt.Errorf("skills: %s: %w", name, err)
			continue
		}
		a.skills.added[name] = s.ID
	}
	for name, id := range a.ids() {
		_ = a.runtime.Filter().SetEnabled(id, !slices.Contains(set.Skills.Disabled, name)) // the agent has it
	}
	a.skill.Change(ctx, skill.Variables{
		Location: set.location, Attributes: set.aliases(), Echo: set.Skills.Echo,
		Directory: skill.Directory{Address: set.Directory.Address, Connection: ids[set.Directory.Connection]},
	}, emptied)
	return failed
}

// errFactory means that a SkillFactory panicked.
var errFactory = errors.New("the function of the skill panicked")

// made calls a SkillFactory, and converts a panic into an error.
func (a *agent) made(f SkillFactory) (s runtime.Skill, err error) {
	defer func() {
		if recover() != nil {
			err = errFactory
		}
	}()
	return f(a.runtime)
}

// ids returns the ids of the skills of the agent, by the name in the configuration. The caller must hold the lock.
func (a *agent) ids() map[string]wire.PublicID {
	all := map[string]wire.PublicID{"intents": skill.ID}
	if a.skills.directory != nil {
		all["search"] = directory.ID
	}
	for name, id := range a.skills.added {
		all[strings.TrimPrefix(name, "own/")] = id
	}
	return all
}
